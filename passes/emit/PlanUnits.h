//===- PlanUnits.h - Which unit of an iteration does what -------*- C++ -*-===//
//
// A schedule orders units: the work of one kind that a stage does for one micro-batch. Of the ops of a loop
// over micro-batches each belongs to one unit of each iteration:
//
//   op                                  | unit
//   ------------------------------------+---------------------------------------------------------------------
//   task, collective                    | that of its work, or a later one that makes what it reads
//   `epl.loop_slice`, recomputed work   | the first one that reads it
//   `epl.loop_stack`, `epl.loop_last`   | that of what they read
//   `epl.loop_carry`                    | that of its `epl.loop_last`
//
// Units of an iteration are done in the order of data flow: stages ascend forwards and descend backwards.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"
#include "runtime/plan/schedule/Table.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::epl {

namespace schedule = ::epl::runtime::schedule;

/// The units of one function's part of a loop. Those that it gives and takes are of micro-batch 0 and stand
/// for all iterations.
class PlanUnits {
public:
  /// `ops` are those of the loop, in their order; all are of `stage`.
  PlanUnits(ArrayRef<Operation *> ops, const Loops &loops, uint32_t stage);

  schedule::Unit getUnit(Operation *op) const { return {stage, kinds.lookup(op), 0}; }
  /// The ops of a unit, in their order.
  ArrayRef<Operation *> getOps(schedule::Unit unit) const;
  /// The values of an iteration that a unit of it makes and a later one reads.
  ArrayRef<Value> getCrossing() const { return crossing.getArrayRef(); }

  /// Fails, with an error at the op, if one iteration would have to wait for backward work of the one before.
  LogicalResult verify() const;

private:
  schedule::Kind getOwnKind(Operation *op) const;
  void findKinds();
  void findCrossing();

  SmallVector<Operation *> ops;
  const Loops &loops;
  uint32_t stage;
  DenseMap<Operation *, schedule::Kind> kinds;
  std::map<schedule::Kind, SmallVector<Operation *>> members;
  llvm::SetVector<Value> crossing;
};

} // namespace mlir::epl
