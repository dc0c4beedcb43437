//===- GpuTarget.h - The GPU that kernels are compiled for ---------*- C++ -*-===//
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir {
class Operation;
}

namespace mlir::epl {

constexpr llvm::StringLiteral kGpuTriple = "nvptx64-nvidia-cuda";

/// An architecture of GPUs by NVIDIA's name; code for it runs on later ones, too.
struct GpuTarget {
  std::string architecture;
};

/// The target called `architecture`, sm_80 or later; an unknown name is an error of `op`. Readies LLVM's
/// backend for it.
FailureOr<GpuTarget> getGpuTarget(Operation *op, StringRef architecture);

} // namespace mlir::epl
