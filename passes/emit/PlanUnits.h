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
//   all of a loop that is in this one   | the last one of these
//
// Units of an iteration are done in the order of data flow: forward work by ascending stages, then backward
// work by descending ones, then what was put off.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"
#include "runtime/plan/schedule/Table.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace mlir::epl {

namespace schedule = ::epl::runtime::schedule;

/// The stage of each task graph, by symbol.
struct Stage {
  uint32_t number = 0;
  bool splitsBackward = false; ///< whether its schedule has I and W, else B
};
using Stages = llvm::StringMap<Stage>;

/// The units of one function's part of a loop. Those that it gives and takes are of micro-batch 0 and stand
/// for all iterations.
class PlanUnits {
public:
  /// `ops` are those of the loop, in their order. `first` is the first stage of their mesh.
  PlanUnits(ArrayRef<Operation *> ops, const Loops &loops, const Stages &stages, uint32_t first);

  schedule::Unit getUnit(Operation *op) const { return units.lookup(op).unit; }
  /// Those that have ops.
  SmallVector<schedule::Unit> getUnits() const { return llvm::to_vector(llvm::make_first_range(members)); }
  /// The ops of a unit, in their order.
  ArrayRef<Operation *> getOps(schedule::Unit unit) const {
    unit.microBatch = 0;
    auto own = members.find(unit);
    return own == members.end() ? ArrayRef<Operation *>() : own->second;
  }
  /// The values of an iteration that a unit reads and others of it make, and those that it makes for others.
  ArrayRef<Value> getRead(schedule::Unit unit) const { return find(read, unit); }
  ArrayRef<Value> getKept(schedule::Unit unit) const { return find(kept, unit); }

  /// Fails, with an error at the op, if an iteration would have to wait for later work of the one before.
  LogicalResult verify() const;

private:
  /// A unit of micro-batch 0, and its place in the order of data flow.
  struct Place {
    schedule::Unit unit = {};
    uint32_t rank = 0;
    bool operator<(const Place &other) const { return rank < other.rank; }
  };

  using Values = std::map<schedule::Unit, llvm::SetVector<Value>>;

  static ArrayRef<Value> find(const Values &values, schedule::Unit unit) {
    unit.microBatch = 0;
    auto own = values.find(unit);
    return own == values.end() ? ArrayRef<Value>() : own->second.getArrayRef();
  }
  uint32_t getRank(schedule::Unit unit) const;
  bool isNested(Operation *op) const;
  Place getOwnPlace(Operation *op) const;
  Place getLastPlace(Operation *op) const;
  void findPlaces();
  void findCrossing();

  SmallVector<Operation *> ops;
  const Loops &loops;
  const Stages &stages;
  uint32_t first;
  DenseMap<Operation *, Place> units;
  std::map<schedule::Unit, SmallVector<Operation *>> members;
  Values read, kept;
};

} // namespace mlir::epl
