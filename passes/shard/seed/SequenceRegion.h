//===- SequenceRegion.h - What all members of an axis compute -----*- C++ -*-===//
//
// Between a sum over an axis and the next op that the axis splits, every member computes the same: in a
// transformer norms, dropout and residual additions. Such a region can be sharded along a dimension that
// its ops pass on, of samples or positions: then the sum is scattered into it and its results are gathered.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AxisPlacement.h"
#include "passes/shard/analysis/Propagation.h"

namespace mlir::epl {

/// A use of a value of a region that does not take the part which the region makes.
struct RegionExit {
  OpOperand *use;
  AxisState needed;
};

/// A region and how it would be sharded.
struct SequenceRegion {
  llvm::MapVector<Value, int64_t> dims;          ///< the dimension of each value that would be sharded
  llvm::MapVector<Operation *, int64_t> factors; ///< that its ops would shard
  SmallVector<Value> sums;                       ///< that would be scattered into it
  SmallVector<RegionExit> exits;
  /// The bytes that may move more than without it: of gradients of what it broadcasts, as sums over the axis;
  /// of gradients that it has parts of, gathered for who applies them; of what is computed again and then
  /// gathered again.
  int64_t extraBytes = 0;
};

/// The step on one axis as the seeds so far make it. Who asks what a region changes gets a step of the same
/// program: the constraints of the region are assumed, and only what depends on them is propagated again.
class SequenceStep {
public:
  SequenceStep(const FunctionRules &rules, AxisAttr axis);
  /// `step`, of seeds alone, with a region that is sharded. It must stay.
  SequenceStep(const SequenceStep &step, const SequenceRegion &region);
  SequenceStep(const SequenceStep &) = delete;

  const FunctionRules &getRules() const { return rules; }
  /// The sums that all members get for an op that all of them compute alike, in program order.
  SmallVector<Value> getSums() const;
  /// The region that `sum` enters, if it is sharded along dimension `dim` of it.
  SequenceRegion grow(Value sum, int64_t dim) const;

  AxisState getState(Value value) const { return placement.getState(value); }
  /// The constraints that are assumed.
  const AssumedConstraints &getAssumed() const { return program.getAssumed(); }
  /// How often propagation has looked at an op for this; of a step with a region only beyond the seeds.
  int64_t getNumSteps() const { return steps; }
  /// The bytes that members exchange (`AxisPlacement::getTraffic`).
  int64_t getTraffic() const { return placement.getTraffic(); }
  /// The bytes of all that a member makes.
  int64_t getMadeBytes() const { return madeBytes; }
  /// The ops on which this may differ from the step that it is made of; all if there is none.
  ArrayRef<Operation *> getOps() const { return placement.getOps(); }

private:
  friend class RegionGrower;

  /// The bytes of a value in a state, on one member.
  int64_t getMade(Value value, AxisState state) const;
  int64_t countMadeBytes(ArrayRef<Operation *> ops) const;
  /// Whether all members have the value as it is read.
  bool isWhole(Value value) const;
  /// Whether the value is a sum that its readers pass on as one.
  bool isLeftPending(Value value) const;
  /// Whether all members compute the op alike, for the loss or its gradient, or on their addends of a sum
  /// that is completed right after it.
  bool isReplicated(Operation *op) const;
  Block &getBody() const { return rules.getFunction().getBody().front(); }

  const FunctionRules &rules;
  AxisAttr axis;
  Propagation seeded; ///< what follows from the seeds, before loops are settled
  Propagation program;
  AxisPlacement placement;
  int64_t steps, madeBytes;
};

} // namespace mlir::epl
