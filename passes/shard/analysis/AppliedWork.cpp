//===- AppliedWork.cpp - What applies gradients ---------------------------===//

#include "passes/shard/analysis/AppliedWork.h"

#include "dialect/Loops.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"

using namespace mlir;
using namespace mlir::epl;

/// The ops that depend on no batch, nor on what an iteration of a loop makes.
static DenseSet<Operation *> findLeaves(Block &body, const Loops &loops) {
  DenseSet<Operation *> leaves;
  auto isLeaf = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    return producer ? leaves.contains(producer) : !isBatch(cast<BlockArgument>(value));
  };
  for (Operation &op : body.without_terminator())
    if (!loops.getLoop(&op) && llvm::all_of(getUsedValues(&op), isLeaf))
      leaves.insert(&op);
  return leaves;
}

DenseSet<Operation *> mlir::epl::findAppliedWork(func::FuncOp function) {
  Block &body = function.front();
  Loops loops(body);
  DenseSet<Operation *> leaves = findLeaves(body, loops), applied;
  auto applies = [&](OpOperand &use) {
    Operation *user = body.findAncestorOpInBlock(*use.getOwner());
    return isa<func::ReturnOp>(user) ? bool(getUpdatedArgument(function, use.getOperandNumber()))
                                     : applied.contains(user);
  };
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    std::optional<WorkKind> kind = getWorkKind(&op);
    if (!kind || getMicroBatchLoop(loops.getLoop(&op)))
      continue;
    bool isLeaf = kind == WorkKind::forward && leaves.contains(&op) && !op.use_empty() &&
                  llvm::all_of(op.getUses(), applies);
    if (kind == WorkKind::apply || isLeaf)
      applied.insert(&op);
  }
  return applied;
}
