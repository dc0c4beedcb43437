//===- Gradients.cpp - Sums that complete gradients -----------------------===//

#include "dialect/Gradients.h"

#include "dialect/Additions.h"
#include "dialect/Channels.h"
#include "dialect/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::epl;

static WorkAttr getWork(Operation *op) {
  auto task = dyn_cast<TaskOp>(op);
  return task ? task.getWork() : op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
}

static bool isBackward(WorkKind kind) {
  return kind == WorkKind::backward || kind == WorkKind::backward_input || kind == WorkKind::backward_weight;
}

/// Whether the results of `op` are what it reads, moved or added to others.
static bool passesOn(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return isa<ToLocalOp, FromLocalOp, AllReduceOp, ReduceScatterOp, ReduceOp, AllGatherOp, AllToAllOp,
             PermuteOp, BroadcastOp, LoopCarryOp, LoopLastOp>(op) ||
         (generic && isAddition(generic));
}

static bool isCompletedSum(Operation *op) {
  if (!isa<AllReduceOp, ReduceScatterOp, ReduceOp>(op))
    return false;
  auto from = cast<DistType>(op->getOperand(0).getType());
  return from.getSharding().getReduction() == ReductionKind::sum;
}

bool mlir::epl::completesGradient(Operation *collective) {
  WorkAttr work = getWork(collective);
  if (!isCompletedSum(collective) || !work || !isBackward(work.getKind()))
    return false;
  Block *body = collective->getBlock();
  SetVector<Operation *> open;
  open.insert(collective);
  for (size_t i = 0; i < open.size(); ++i)
    for (OpOperand &use : open[i]->getUses()) {
      Operation *reader = body->findAncestorOpInBlock(*use.getOwner());
      WorkAttr work = getWork(reader);
      if (passesOn(reader))
        open.insert(reader);
      else if (isa<func::ReturnOp>(reader) ? isSend(use) : !work || work.getKind() != WorkKind::apply)
        return false;
    }
  return true;
}
