//===- PlanUnits.cpp - Which unit of an iteration does what ---------------===//

#include "passes/emit/PlanUnits.h"

using namespace mlir;
using namespace mlir::epl;

PlanUnits::PlanUnits(ArrayRef<Operation *> ops, const Loops &loops, const Stages &stages, uint32_t first)
    : ops(ops.begin(), ops.end()), loops(loops), stages(stages), first(first) {
  findPlaces();
  findCrossing();
}

uint32_t PlanUnits::getRank(schedule::Unit unit) const {
  uint32_t count = stages.size(), back = count - 1 - unit.stage;
  switch (unit.kind) {
  case schedule::Kind::forward:
    return unit.stage;
  case schedule::Kind::backward:
  case schedule::Kind::input:
    return count + back;
  case schedule::Kind::weight:
    return 2 * count + back;
  }
  llvm_unreachable("all kinds of units");
}

static WorkAttr getWork(Operation *op) {
  auto task = dyn_cast<TaskOp>(op);
  return task ? task.getWork() : op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
}

/// Of a stage that does not split backward work all of it is one unit, if other stages do or not.
static schedule::Kind getKind(WorkKind kind, const Stage &stage) {
  switch (kind) {
  case WorkKind::forward:
    return schedule::Kind::forward;
  case WorkKind::backward_input:
    return stage.splitsBackward ? schedule::Kind::input : schedule::Kind::backward;
  case WorkKind::backward_weight:
    return stage.splitsBackward ? schedule::Kind::weight : schedule::Kind::backward;
  case WorkKind::backward:
  case WorkKind::recompute:
  case WorkKind::apply:
    return schedule::Kind::backward;
  }
  llvm_unreachable("all kinds of work");
}

/// Whether an op goes with the first that reads what it makes.
static bool followsReaders(Operation *op) {
  WorkAttr work = getWork(op);
  return isa<LoopSliceOp>(op) || (work && work.getKind() == WorkKind::recompute);
}

/// By the work that an op is stamped with. What has none goes with what it reads, or comes first.
PlanUnits::Place PlanUnits::getOwnPlace(Operation *op) const {
  WorkAttr work = getWork(op);
  schedule::Unit unit = {first, schedule::Kind::forward, 0};
  if (work) {
    Stage stage = stages.lookup(work.getTaskgraph().getValue());
    unit = {stage.number, getKind(work.getKind(), stage), 0};
  }
  return {unit, getRank(unit)};
}

/// Whether an op is in a loop that each micro-batch does as a whole, so in one unit.
bool PlanUnits::isNested(Operation *op) const { return bool(loops.getLoop(op).getOuter()); }

/// The last of the places of an op itself and of what makes what it reads.
PlanUnits::Place PlanUnits::getLastPlace(Operation *op) const {
  Place place = getOwnPlace(op);
  for (Value operand : op->getOperands())
    if (auto maker = units.find(operand.getDefiningOp());
        maker != units.end() && (!followsReaders(maker->first) || isNested(maker->first)))
      place = std::max(place, maker->second);
  return place;
}

/// What ops read stands before them, but for the next iteration's value.
void PlanUnits::findPlaces() {
  for (const auto *op = ops.begin(); op != ops.end();) {
    const auto *end = std::next(op);
    Place place = getLastPlace(*op);
    for (; isNested(*op) && end != ops.end() && loops.getLoop(*end) == loops.getLoop(*op); ++end)
      place = std::max(place, getLastPlace(*end));
    for (; op != end; ++op)
      units[*op] = place;
  }
  for (Operation *op : llvm::reverse(ops)) {
    if (isNested(op))
      continue;
    if (auto carry = dyn_cast<LoopCarryOp>(op))
      units[op] = units.lookup(loops.getLast(carry));
    if (!followsReaders(op) || op->use_empty())
      continue;
    auto read = llvm::map_to_vector(op->getUsers(), [&](Operation *user) { return units.lookup(user); });
    units[op] = *llvm::min_element(read);
  }
  for (Operation *op : ops)
    members[getUnit(op)].push_back(op);
}

void PlanUnits::findCrossing() {
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (auto maker = units.find(operand.getDefiningOp());
          maker != units.end() && maker->second.unit != getUnit(op)) {
        read[getUnit(op)].insert(operand);
        kept[maker->second.unit].insert(operand);
      }
}

LogicalResult PlanUnits::verify() const {
  for (Operation *op : ops)
    if (auto carry = dyn_cast<LoopCarryOp>(op))
      for (Operation *user : op->getUsers())
        if (units.lookup(user) < units.lookup(op))
          return user->emitError() << "work of a micro-batch reads what later work of the micro-batch before "
                                      "it has made; expected one micro-batch (\"pipeline.num_micro_batch\")";
  return success();
}
