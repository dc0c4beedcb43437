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

/// The step on one axis as the seeds so far make it.
class SequenceStep {
public:
  SequenceStep(func::FuncOp function, MeshOp mesh, AxisAttr axis);
  SequenceStep(const SequenceStep &) = delete;

  const FunctionRules &getRules() const { return rules; }
  /// The sums that all members get for an op that all of them compute alike, in program order.
  SmallVector<Value> getSums() const;
  /// The region that `sum` enters, if it is sharded along dimension `dim` of it.
  SequenceRegion grow(Value sum, int64_t dim) const;

  AxisState getState(Value value) const { return placement.getState(value); }
  /// The bytes that members exchange (`AxisPlacement::getTraffic`).
  int64_t getTraffic() const { return placement.getTraffic(); }
  /// The bytes of all that a member makes.
  int64_t getMadeBytes() const;

private:
  friend class RegionGrower;

  /// Whether all members have the value as it is read.
  bool isWhole(Value value) const;
  /// Whether the value is a sum that its readers pass on as one.
  bool isLeftPending(Value value) const;
  /// Whether all members compute the op alike, for the loss or its gradient, or on their addends of a sum
  /// that is completed right after it.
  bool isReplicated(Operation *op) const;
  Block &getBody() const { return rules.getFunction().getBody().front(); }

  FunctionRules rules;
  AxisAttr axis;
  Propagation program;
  AxisPlacement placement;
};

} // namespace mlir::epl
