//===- Libdevice.h - CUDA's library of math functions --------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir::epl {

/// libdevice.10.bc of CUDA, as bitcode of LLVM: a part of the program (passes/kernel/CMakeLists.txt).
llvm::StringRef getLibdevice();

} // namespace mlir::epl
