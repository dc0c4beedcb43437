//===- IterationStatistics.h - What is of each micro-batch ------*- C++ -*-===//
//
// Problem: BatchNorm and the like read sums over samples while they work on samples. Where the user says that
//   these are statistics of each micro-batch (`epl.per_micro_batch`), no loop before has to make them.
// Method: a *statistic* is what a reduction over samples in that scope makes. Where an iteration reads it, it
//   takes an estimate from its own samples: of a sum m times its own addend, so that a mean over the batch
//   becomes the mean of the micro-batch; of a maximum or minimum its own. Each iteration has its own value,
//   too, of what is made of estimates, in the scope or on the way to samples. Then the step's gradients are
//   the mean of those of m steps on a micro-batch each. What is done once reads of a sum or a maximum that of
//   all samples, of anything else made of estimates the mean over the iterations. A state whose next value is
//   made of estimates is carried: each iteration updates what the one before has left. A loop of the step,
//   over layers, is done in iterations as a whole (NestedLoops.h): of the statistics in its iterations each
//   takes its estimates, and a stack of running means is a state that is carried. An op of the loop that is
//   in no scope, nor on the way to samples, is done once of what all micro-batches have, which no loop in
//   these can give it: a loop with such an op is unrolled before.
// Invariant in: a placed program; each change of state on the axis is a reshard, to what is whole or from it.
// Invariant out: estimates, and what is added to pending statistics once, are reshards with
//   `epl.per_micro_batch`; what is done once reads values of iterations through reshards.
// Reference: docs/design.md, 4.3; Huang et al., "GPipe", 2019, 2 (batch normalization in micro-batches).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/prepare/UnrollLoops.h"

#include "llvm/ADT/DenseSet.h"

namespace mlir::epl {

/// How errors end where no scope makes what an iteration reads a statistic.
inline constexpr llvm::StringLiteral kComparesSamples =
    ": where samples are compared with one another `epl.per_micro_batch()` is of no help, as it is for "
    "statistics, such as means and maxima";

class IterationStatistics {
public:
  /// Rewrites the reshards of a function, if there are no loops that are to be unrolled before. Failure, with
  /// an error, where a value of each iteration cannot be what is read of it.
  static FailureOr<IterationStatistics> create(func::FuncOp function, AxisAttr axis);

  /// Whether each iteration has a value of its own, though it has no samples and is no addend.
  bool contains(Value value) const { return values.contains(value); }
  /// Whether an op without samples is done in each iteration, of estimates.
  bool contains(Operation *op) const { return made.contains(op); }
  /// The loops that cannot be done in each micro-batch as a whole.
  const llvm::MapVector<LoopAttr, UnrollReason> &getOthers() const { return others; }
  /// States that are carried, and what each iteration makes of them.
  const llvm::MapVector<Value, Value> &getCarried() const { return carried; }

private:
  friend class StatisticsFinder;
  DenseSet<Value> values;
  DenseSet<Operation *> made;
  llvm::MapVector<LoopAttr, UnrollReason> others;
  llvm::MapVector<Value, Value> carried;
};

} // namespace mlir::epl
