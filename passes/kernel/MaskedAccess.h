//===- MaskedAccess.h - Masked accesses that x86 has -----------------*- C++ -*-===//
#pragma once

#include "llvm/IR/Module.h"

namespace mlir::epl {

/// Makes masked loads, stores, gathers and scatters of 16-bit floats move their bits as integers.
void moveNarrowFloatsAsBits(llvm::Module &module);

} // namespace mlir::epl
