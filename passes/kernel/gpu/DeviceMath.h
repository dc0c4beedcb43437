//===- DeviceMath.h - Functions of libm on a GPU -------------------*- C++ -*-===//
#pragma once

#include "mlir/Support/LLVM.h"

#include <string>

namespace llvm {
class Module;
}

namespace mlir::epl {

/// Gives a module for a GPU the functions that it calls, from libdevice: those of libm, and what LLVM's
/// intrinsics for scalars stand for where PTX has no instruction. Fails with the name of one that libdevice
/// does not have.
LogicalResult linkDeviceMath(llvm::Module &module, std::string &error);

} // namespace mlir::epl
