//===- PlanUnits.cpp - Which unit of an iteration does what ---------------===//

#include "passes/emit/PlanUnits.h"

using namespace mlir;
using namespace mlir::epl;

PlanUnits::PlanUnits(ArrayRef<Operation *> ops, const Loops &loops, uint32_t stage)
    : ops(ops.begin(), ops.end()), loops(loops), stage(stage) {
  findKinds();
  findCrossing();
}

/// Whether an op goes with the first that reads what it makes.
static bool followsReaders(Operation *op) {
  auto task = dyn_cast<TaskOp>(op);
  return isa<LoopSliceOp>(op) || (task && task.getWork().getKind() == WorkKind::recompute);
}

/// By the work that an op is stamped with.
schedule::Kind PlanUnits::getOwnKind(Operation *op) const {
  auto task = dyn_cast<TaskOp>(op);
  auto work = task ? task.getWork() : op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  switch (work ? work.getKind() : WorkKind::forward) {
  case WorkKind::forward:
    return schedule::Kind::forward;
  case WorkKind::backward_input:
    return schedule::Kind::input;
  case WorkKind::backward_weight:
    return schedule::Kind::weight;
  case WorkKind::backward:
  case WorkKind::recompute:
  case WorkKind::apply:
    return schedule::Kind::backward;
  }
  llvm_unreachable("all kinds of work");
}

void PlanUnits::findKinds() {
  for (Operation *op : ops) { // what they read stands before them, but for the next iteration's value
    schedule::Kind kind = getOwnKind(op);
    for (Value operand : op->getOperands())
      if (auto maker = kinds.find(operand.getDefiningOp());
          maker != kinds.end() && !followsReaders(maker->first))
        kind = std::max(kind, maker->second);
    kinds[op] = kind;
  }
  for (Operation *op : llvm::reverse(ops)) {
    if (auto carry = dyn_cast<LoopCarryOp>(op))
      kinds[op] = kinds.lookup(loops.getLast(carry));
    if (!followsReaders(op) || op->use_empty())
      continue;
    auto read = llvm::map_range(op->getUsers(), [&](Operation *user) { return kinds.lookup(user); });
    kinds[op] = *llvm::min_element(read);
  }
  for (Operation *op : ops)
    members[kinds.lookup(op)].push_back(op);
}

void PlanUnits::findCrossing() {
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (auto maker = kinds.find(operand.getDefiningOp());
          maker != kinds.end() && maker->second != kinds.lookup(op))
        crossing.insert(operand);
}

ArrayRef<Operation *> PlanUnits::getOps(schedule::Unit unit) const {
  auto own = members.find(unit.kind);
  return unit.stage != stage || own == members.end() ? ArrayRef<Operation *>() : own->second;
}

LogicalResult PlanUnits::verify() const {
  for (Operation *op : ops)
    if (auto carry = dyn_cast<LoopCarryOp>(op))
      for (Operation *user : op->getUsers())
        if (kinds.lookup(user) < kinds.lookup(op))
          return user->emitError() << "forward work of a micro-batch reads what backward work of the "
                                      "micro-batch before it has made; expected one micro-batch "
                                      "(\"pipeline.num_micro_batch\")";
  return success();
}
