//===- Zero.h - Which values are known to be zero ---------------*- C++ -*-===//
//
// A reduction over a sharded factor adds its initial value once on every member, so that value must be
// neutral. For sums that is zero, and fills, broadcasts, reshapes and products stand between the constant and
// its use; for other reductions a look at the constant is enough.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"
#include "passes/shard/analysis/Linearity.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::epl {

/// The values of a function's top level that are zero.
class ZeroAnalysis {
public:
  explicit ZeroAnalysis(func::FuncOp function);

  bool isZero(Value value) const { return zeros.contains(value); }
  /// `zero` or `normal`.
  Status getStatus(Value value) const { return isZero(value) ? Status::zero : Status::normal; }
  /// Whether a reduction gives the same if it starts from `init` on each member and not just once.
  bool isNeutral(ReductionKind kind, Value init) const;

private:
  DenseSet<Value> zeros;
};

} // namespace mlir::epl
