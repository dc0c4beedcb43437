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
    if (failed(addUnit(unit, loop, units, loops)))
      return failure();
  }
  builder.endUnits();
  return success();
}

LogicalResult PlanBuilder::addUnit(schedule::Unit unit, LoopAttr loop, const PlanUnits &units,
                                   const Loops &loops) {
  Kept &own = kept[unit.microBatch];
  for (Value value : units.getRead(unit)) {
    auto buffer = own.buffers.find(value);
    auto stack = own.stacks.find(value);
    if (buffer == own.buffers.end() && stack == own.stacks.end())
      return emitError(value.getLoc())
             << "unit " << schedule::toString(unit) << " reads this, which a later unit of the schedule makes"
             << kExpectedStages;
    if (buffer != own.buffers.end())
      buffers[value] = buffer->second;
    if (stack != own.stacks.end())
      stacks[value] = stack->second;
  }
  for (auto [number, buffer] : own.predicates)
    predicates[number] = buffer;
  if (failed(addUnitOps(unit, loop, units.getOps(unit), loops)))
    return failure();
  for (Value value : units.getKept(unit))
    if (auto stack = stacks.find(value); stack != stacks.end())
      own.stacks[value] = stack->second;
    else
      own.buffers[value] = buffers.lookup(value);
  return success();
}

/// What a unit does itself, and the loops in it.
LogicalResult PlanBuilder::addUnitOps(schedule::Unit unit, LoopAttr loop, ArrayRef<Operation *> ops,
                                      const Loops &loops) {
  beginIteration(ops, loop, loops, unit.microBatch == 0);
  while (!ops.empty()) {
    Operation *op = ops.front();
    LoopAttr inner = loops.getLoop(op);
    auto isOther = [&](Operation *other) { return loops.getLoop(other) != inner; };
    size_t count = inner == loop ? 1 : size_t(llvm::find_if(ops, isOther) - ops.begin());
    if (failed(inner == loop ? addIterationOp(op, unit.microBatch)
                             : addLoop(ops.take_front(count), inner, loops)))
      return failure();
    if (auto predicate = dyn_cast<PredicateOp>(op))
      kept[unit.microBatch].predicates[predicate.getId()] = predicates.lookup(predicate.getId());
    ops = ops.drop_front(count);
  }
  return success();
}
