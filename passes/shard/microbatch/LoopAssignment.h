//===- LoopAssignment.h - Which ops of a step are done in micro-batches -*- C++ -*-===//
//
// A step was placed on one axis, of which each member is a micro-batch: every value has samples of one, is an
// addend of a sum over all, or is the same for all, and every change is a reshard. Micro-batches come one
// after the other, so a reshard of this axis is an edge of a loop:
//
//   the operand is   the result is   in a loop over micro-batches
//   replicated       sharded         enters it: the iteration's part of what is whole
//   replicated       partial         enters it: the value in the first iteration, else the neutral element
//   partial          replicated      leaves it: the sum over all iterations
//   sharded          replicated      leaves it: the parts of all iterations, joined
//   an iteration's   replicated      leaves it: the mean over all iterations, or what the last one has
//   carried
//
// What has no samples may be an iteration's: an estimate of a sum (IterationStatistics.h), or a value of a
// loop that each iteration does as a whole (NestedLoops.h).
//
//   an iteration's   replicated      leaves it: what the last one has
//   nested loop's
//
// What is whole only after a loop, and is read in iterations, asks for a loop before:
//
// - The count of a masked mean, of which each sample's gradient is a part: a loop of no more than what makes
//   it, so that its ops are done twice.
// - Parameters that are updated between two passes over the batch (two optimizers in one step): there work of
//   kind apply is in between, and all iterations end before. The step has several *passes*, each with loops
//   of its own; samples of one that a later one reads are kept.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"
#include "passes/shard/microbatch/IterationStatistics.h"
#include "passes/shard/microbatch/NestedLoops.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::epl {

class LoopAssignment {
public:
  struct Loop {
    SmallVector<Operation *> ops; ///< in program order, reshards that enter the loop among them
    SmallVector<ReshardOp> exits; ///< that are whole after it
    llvm::SetVector<Value> kept;  ///< values of all iterations that later passes read, or the step returns
  };

  /// Of a program in which no reshard goes from one kind of part to another. Failure, with an error, if loops
  /// of a pass before its last would do more than a sixteenth of an iteration's multiply-adds.
  static FailureOr<LoopAssignment> create(const FunctionRules &rules, AxisAttr axis,
                                          const IterationStatistics &statistics, const NestedLoops &nested);

  /// In the order in which they are done; the last one of a pass has the ops of all its iterations.
  ArrayRef<Loop> getLoops() const { return loops; }
  /// Whether each iteration has a value of its own.
  bool isOfIteration(Value value) const;
  const IterationStatistics &getStatistics() const { return statistics; }
  const NestedLoops &getNested() const { return nested; }
  AxisState getState(Value value) const { return getAxisState(getSharding(value), axis.getName()); }

private:
  LoopAssignment(const FunctionRules &rules, AxisAttr axis, const IterationStatistics &statistics,
                 const NestedLoops &nested)
      : rules(rules), axis(axis), statistics(statistics), nested(nested) {}

  /// When something is done: in which pass, and after how many loops of it.
  struct Time {
    unsigned pass = 0, loop = 0;
    friend auto operator<=>(const Time &, const Time &) = default;
  };
  /// The loops of a pass.
  struct BatchPass {
    SmallVector<Loop> before;
    Loop last;
  };

  Time getTime(Value value) const { return times.lookup(value.getDefiningOp()); }
  void classify();
  Time classify(Operation *op, Time time);
  void delay();
  LogicalResult verifyCarried() const;
  std::vector<BatchPass> assign();
  bool comparesSamples(ReshardOp exit) const;
  LogicalResult verifyCost(const BatchPass &pass) const;
  bool isExit(Operation *op) const;
  void findNeeded();
  void findNeeded(Operation *reader);
  void addEarly(BatchPass &pass, ReshardOp exit, Operation *reader);
  void addMakers(Value value, unsigned pass, llvm::SetVector<Operation *> &slice) const;
  void keep(MutableArrayRef<BatchPass> passes, Value value) const;
  void forEachOperand(Operation *op, function_ref<void(Value)> visit) const;

  const FunctionRules &rules;
  AxisAttr axis;
  const IterationStatistics &statistics;
  const NestedLoops &nested;
  SmallVector<Loop> loops;
  DenseSet<Operation *> inIterations;
  DenseMap<Operation *, Time> times;
  DenseMap<Operation *, Operation *> readers; ///< of exits: the first op of an iteration that needs it
};

} // namespace mlir::epl
