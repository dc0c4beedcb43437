//===- AxisPlacement.h - What each use needs on one axis --------*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/AffectedOps.h"
#include "passes/shard/analysis/Placement.h"

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
  /// The same for another propagation of the same program, with further constraints, say. Looks at the ops
  /// for which it is another one than that of `base`, and at those with which these share pending sums. The
  /// rest is as in `base`, which must stay.
  AxisPlacement(const AxisPlacement &base, const Propagation &program);

  /// Writes the shardings of values that are no longer made partial, and the factors of what makes parts of
  /// them.
  void commit();

  /// The state that a use of a tensor needs of what it reads.
  AxisState getNeededState(OpOperand &use) const;

  /// The state of a value as its op makes it.
  AxisState getState(Value value) const {
    if (isOfBase(value))
      return base->getState(value);
    auto known = settled.find(value);
    return known == settled.end() ? states(value) : known->second;
  }
  /// Whether a value is made pending, and completed right after.
  bool isCompleted(Value value) const {
    return isOfBase(value) ? base->isCompleted(value) : completed.contains(value);
  }
  /// The ops that were looked at, in program order.
  ArrayRef<Operation *> getOps() const { return affected ? affected->getOps() : rules.getOps(); }

  /// The bytes that completing and resharding on this axis moves, as if other axes split nothing: of a tensor
  /// once where members gather it or get their parts of its sum, twice where all get the sum, and its part of
  /// one member where its parts are exchanged.
  int64_t getTraffic() const;

private:
  bool isOfBase(Value value) const {
    Operation *maker = base ? value.getDefiningOp() : nullptr;
    return maker && !isLookedAt(rules.findPosition(maker));
  }
  bool isLookedAt(std::optional<unsigned> position) const {
    return position && (!affected || affected->contains(*position));
  }
  /// The factor that the axis shards; none if the op is not one of the function's list.
  std::optional<int64_t> getChoice(Operation *op) const {
    std::optional<unsigned> position = rules.findPosition(op);
    if (isLookedAt(position))
      return choices[*position];
    return position ? base->getChoice(op) : std::nullopt;
  }
  void place();
  void findMeeting();
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
  /// The state that a use needs of what it reads, if that is complete.
  AxisState getOwnNeed(OpOperand &use) const;
  /// The state that a use, or a constraint before it, needs of a value that is complete.
  AxisState getCompleteState(OpOperand &use) const;
  void solve();
  void sliceSettled();
  AxisState getRead(OpOperand &use) const {
    return assumed.getRead(use, [&](Value value) { return getState(value); });
  }
  int64_t getReshardedBytes(Value value, const AssumedConstraints::Constraint *source = nullptr) const;
  SmallVector<Value> getMoving() const;
  SmallVector<Value> getTouched() const;
  int64_t getTraffic(Value value) const;
  std::optional<unsigned> getIndex(OpOperand &use) const;

  const FunctionRules &rules;
  AxisAttr axis;
  int64_t bytesOfASum; ///< what a sum costs beside what it moves
  std::function<AxisState(Value)> states;
  std::function<int64_t(Operation *)> chosen; ///< the factor that propagation has chosen for an op
  AssumedConstraints assumed;
  const Propagation *program = nullptr; ///< null if the program's text says what it has found
  const AxisPlacement *base = nullptr;  ///< knows of the ops that are not `affected`
  std::optional<AffectedOps> affected;  ///< those that are looked at; all are if there is no base
  llvm::BitVector meeting;              ///< what makes or reads pending sums of `states`, by position
  std::vector<int64_t> choices;         ///< the factors that the axis shards, by position
  PlacementProblem problem;
  llvm::MapVector<Value, unsigned> indices; ///< where a partial value is in the problem
  DenseSet<Value> completed;
  SmallVector<Value> complete; ///< carried values that can't be pending
  mutable std::optional<int64_t> traffic;
  /// The states of values that are partial in `states`, but what they are made of is completed before.
  llvm::MapVector<Value, AxisState> settled;
};

} // namespace mlir::epl
