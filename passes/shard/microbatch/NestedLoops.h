//===- NestedLoops.h - Loops that each micro-batch does ---------*- C++ -*-===//
//
// Problem: a step that is written as a loop over micro-batches has loops of its own: layers, time steps.
// Method: a loop of which an op has samples, or reads estimates of statistics (IterationStatistics.h), is
//   done in each micro-batch, as a whole, though some of its values may be the same for all micro-batches (a
//   count of steps, a key). What is made of these without samples is done in iterations, too, where samples
//   are computed of it; what is done once reads what the last micro-batch has. A loop without samples is done
//   once, like all else.
//   A loop cannot be done so if its iterations complete a sum over samples, since all micro-batches would
//   have to come so far before the next iteration, or if samples are taken apart of what it makes for all.
//   Such loops are unrolled before.
// Invariant in: a placed program; each change of state on the axis is a reshard, to what is whole or from it.
// Invariant out: what is done once reads values of iterations through reshards.
// Reference: docs/design.md, 4.3.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"
#include "passes/shard/microbatch/IterationStatistics.h"
#include "passes/shard/prepare/UnrollLoops.h"

namespace mlir::epl {

class NestedLoops {
public:
  NestedLoops(func::FuncOp function, AxisAttr axis, const IterationStatistics &statistics);

  /// The loops that cannot be done in each micro-batch as a whole.
  llvm::MapVector<LoopAttr, UnrollReason> findOthers() const;
  /// Has what is done once read values of iterations through reshards. They are part of no loop.
  void writeExits();

  /// The number of loops all ops of which are done in iterations.
  size_t getCount() const { return nested.size(); }
  /// Whether each iteration makes a value, though it has no samples and is no addend: the same in all.
  bool contains(Value value) const { return values.contains(value); }

private:
  AxisState getState(Value value) const { return getAxisState(getSharding(value), axis.getName()); }
  bool isWhole(Value value) const {
    return !isa<RankedTensorType>(value.getType()) || getState(value).isReplicated();
  }
  bool hasSamples(Operation *op) const;
  bool isInIteration(Operation *op) const;
  void findNested();
  void findMade();
  const char *findObstacle(ReshardOp op) const;
  llvm::SetVector<LoopAttr> getSources(Value value) const;
  void writeExit(OpResult result);

  Block &body;
  AxisAttr axis;
  const IterationStatistics &statistics;
  Loops loops;
  DenseSet<LoopAttr> nested;
  llvm::SetVector<Operation *> ops; ///< of these loops, and what is made of their whole values for iterations
  DenseSet<Value> values;
};

} // namespace mlir::epl
