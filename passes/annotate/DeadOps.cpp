//===- DeadOps.cpp - What no result depends on ----------------------------===//

#include "passes/annotate/DeadOps.h"

#include "dialect/Loops.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::epl;

/// The ops that the results of the step depend on. A carried value depends on what an iteration makes of it.
static llvm::SetVector<Operation *> findLiveOps(Block &body) {
  Loops loops(body);
  llvm::SetVector<Operation *> live;
  for (Operation &op : body)
    if (op.hasTrait<OpTrait::IsTerminator>() || (!wouldOpBeTriviallyDead(&op) && !isa<LoopLastOp>(op)))
      live.insert(&op);
  for (size_t next = 0; next < live.size(); ++next) {
    if (auto carry = dyn_cast<LoopCarryOp>(live[next]))
      live.insert(loops.getLast(carry));
    live[next]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &body)
          live.insert(producer);
    });
  }
  return live;
}

unsigned mlir::epl::eraseDeadOps(Block &body) {
  unsigned count = 0;
  llvm::SetVector<Operation *> live = findLiveOps(body);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    if (live.contains(&op))
      continue;
    op.erase();
    ++count;
  }
  return count;
}
