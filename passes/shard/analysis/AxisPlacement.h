//===- AxisPlacement.h - What each use needs on one axis --------*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/Placement.h"
#include "passes/shard/analysis/Propagation.h"

#include <functional>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// Between the IR and `placement`: reads the partial values of one axis, has the ones to complete chosen, and
/// answers what state each use needs then.
class AxisPlacement {
public:
  /// Chooses the values to complete, given the states and factors that propagation has written down.
  AxisPlacement(const FunctionRules &rules, AxisAttr axis);
  /// Given those that it has found. `program` must stay.
  AxisPlacement(const FunctionRules &rules, AxisAttr axis, const Propagation &program);

  /// Writes the shardings of values that are no longer made partial, and the factors of what makes parts of
  /// them.
  void commit();

  /// The state that a use of a tensor needs of it.
  AxisState getNeededState(OpOperand &use) const;

  /// The state of a value as its op makes it.
  AxisState getState(Value value) const {
    auto known = settled.find(value);
    return known == settled.end() ? states(value) : known->second;
  }
  /// Whether a value is made pending, and completed right after.
  bool isCompleted(Value value) const { return completed.contains(value); }

  /// The bytes that completing and resharding on this axis moves, as if other axes split nothing: of a tensor
  /// once where members gather it or get their parts of its sum, twice where all get the sum, and its part of
  /// one member where its parts are exchanged.
  int64_t getTraffic() const;

private:
  void place();
  void collect();
  void collect(Operation &op);
  void addPartial(OpResult result, bool born, bool passed);
  void markIllegal(Value value);
  int64_t countCrossings(Operation &op) const;
  int64_t getMaskedBytes(ArrayRef<OpOperand *> masked) const;
  bool isMasked(OpOperand &use) const;
  int64_t getBytesToComplete(Value value) const;
  bool demoteCarries();
  bool staysBefore(ReshardOp reshard) const;
  /// The state that a use needs of a value that is complete.
  AxisState getCompleteState(OpOperand &use) const;
  void solve();
  void sliceSettled();
  int64_t getReshardedBytes(Value value) const;
  SmallVector<unsigned> getIndices(ValueRange values) const;

  const FunctionRules &rules;
  AxisAttr axis;
  int64_t bytesOfASum; ///< what a sum costs beside what it moves
  std::function<AxisState(Value)> states;
  std::function<int64_t(Operation *)> chosen; ///< the factor that propagation has chosen for an op
  DenseMap<Operation *, int64_t> choices;     ///< the factor that the axis shards, of every op
  PlacementProblem problem;
  llvm::MapVector<Value, unsigned> indices; ///< where a partial value is in the problem
  DenseSet<Value> completed;
  SmallVector<Value> complete; ///< carried values that can't be pending
  /// The states of values that are partial in `states`, but what they are made of is completed before.
  llvm::MapVector<Value, AxisState> settled;
};

} // namespace mlir::epl
