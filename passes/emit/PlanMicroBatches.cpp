//===- PlanMicroBatches.cpp - Iterations by a schedule --------------------===//
//
// Problem: in a pipeline a mesh does the forward work of some micro-batches before it does the backward work
// of the first: iterations are neither done one after another nor each as a whole. Method: the ops of the
// loop are dealt out to units (PlanUnits.h). Commands are added unit by unit in the order of the mesh's
// schedule. What one unit of an iteration hands to another one is kept for each iteration. A carried value is
// what the same unit has made for the micro-batch before: schedules have these ascend. Invariant out: in
// every lane commands are in the order of the plan's units.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/PlanBuilder.h"

using namespace mlir;
using namespace mlir::epl;

/// The units of all loops, whether this mesh has a part of them or not.
void PlanBuilder::addUnits() {
  if (planSchedule.getLoops().empty())
    return;
  builder.setSchedule(planSchedule.getName().str());
  for (auto [number, loop] : llvm::enumerate(planSchedule.getLoops()))
    builder.addUnits(uint32_t(number), planSchedule.getLane(func));
}

LogicalResult PlanBuilder::addMicroBatches(LoopAttr loop, const Loops &loops) {
  const PlanUnits &units = planSchedule.getUnits(func, loop);
  const std::vector<schedule::Unit> &lane = planSchedule.getLane(func);
  size_t first = (llvm::find(planSchedule.getLoops(), loop) - planSchedule.getLoops().begin()) * lane.size();
  kept = std::vector<Kept>(size_t(loop.getTripCount()));
  for (auto [number, unit] : llvm::enumerate(lane)) {
    if (units.getOps(unit).empty())
      continue;
    builder.beginUnit(uint32_t(first + number));
    if (failed(addUnit(unit, units, loops)))
      return failure();
  }
  builder.endUnits();
  return success();
}

LogicalResult PlanBuilder::addUnit(schedule::Unit unit, const PlanUnits &units, const Loops &loops) {
  Kept &own = kept[unit.microBatch];
  for (Value value : units.getRead(unit)) {
    auto known = own.buffers.find(value);
    if (known == own.buffers.end())
      return emitError(value.getLoc()) << "unit " << schedule::toString(unit)
                                       << " reads this, which a later unit of the schedule makes";
    buffers[value] = known->second;
  }
  for (auto [number, buffer] : own.predicates)
    predicates[number] = buffer;
  ArrayRef<Operation *> ops = units.getOps(unit);
  beginIteration(ops, loops, unit.microBatch == 0);
  for (Operation *op : ops) {
    if (failed(addIterationOp(op, unit.microBatch)))
      return failure();
    if (auto predicate = dyn_cast<PredicateOp>(op))
      own.predicates[predicate.getId()] = predicates.lookup(predicate.getId());
  }
  for (Value value : units.getKept(unit))
    own.buffers[value] = buffers.lookup(value);
  return success();
}
