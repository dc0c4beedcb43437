//===- AxisPlacement.h - What each use needs on one axis --------*- C++ -*-===//
#pragma once

#include "passes/shard/FactorChoice.h"
#include "passes/shard/Placement.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// Between the IR and `placement`: reads the partial values of one axis, has the ones to complete chosen, and
/// answers what state each use needs then.
class AxisPlacement {
public:
  /// The function has the shardings of `epl-propagate`.
  AxisPlacement(const FunctionRules &rules, AxisAttr axis);

  /// Chooses the values to complete and writes the shardings of those that are no longer made partial.
  void solve();

  /// The state that a use of a tensor needs of it. `solve` must have run.
  AxisState getNeededState(OpOperand &use) const;

private:
  void collect(Operation &op);
  void markIllegal(Value value);
  int64_t countCrossings(Operation &op) const;
  int64_t getBytesToComplete(Value value) const;
  /// The state that a use needs of a value that is complete.
  AxisState getCompleteState(OpOperand &use) const;
  AxisState getState(Value value) const { return getAxisState(getSharding(value), axis.getName()); }
  SmallVector<unsigned> getIndices(ValueRange values) const;

  const FunctionRules &rules;
  AxisAttr axis;
  DenseMap<Operation *, int64_t> choices; ///< the factor that the axis shards, of every op
  PlacementProblem problem;
  llvm::MapVector<Value, unsigned> indices; ///< where a partial value is in the problem
  DenseSet<Value> completed;
};

} // namespace mlir::epl
