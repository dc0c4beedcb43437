//===- CpuTarget.h - The CPU that kernels are compiled for ---------*- C++ -*-===//
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir {
class Operation;
}

namespace mlir::epl {

/// The machine that kernels run on.
constexpr llvm::StringLiteral kCpuTriple = "x86_64-unknown-linux-gnu";

/// A CPU by name and the features that code for it may use. The features are a closed list, so that a runtime
/// can check each of them by CPUID; the name only tunes.
struct CpuTarget {
  std::string cpu;
  SmallVector<std::string> features;

  bool has(StringRef feature) const { return llvm::is_contained(features, feature); }
  /// Bits of the widest vector register worth using.
  unsigned getVectorBits() const;
  /// The features as LLVM's attribute "target-features" wants them.
  std::string getFeatureString() const;
};

/// The target called `cpu`; "host" is the machine that compiles. Fails for a name that LLVM does not know.
/// Readies LLVM's backend for it.
FailureOr<CpuTarget> getCpuTarget(StringRef cpu);

/// The same; an unknown name is an error of `op`.
FailureOr<CpuTarget> getCpuTarget(Operation *op, StringRef cpu);

} // namespace mlir::epl
