//===- SinkLeafWork.cpp - Work on arguments alone, done where it is used --===//
//
// Problem: a step computes `b1 * mu` or a decayed learning rate before it has a gradient. Such ops belong to
// no phase by what they read; left in the forward work they would be kernels of their own, with results that
// are kept until the optimizer reads them.
// Method: an op that reads nothing but arguments, constants and other such ops takes the work of its users,
// if they have one in common. Users first, so that chains sink as a whole. What is computed again stays that,
// since it is so as late as possible. In and out: a global program, every op with its `epl.work`; nothing but
// works changes. Reference: docs/design.md, section 5.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-sink-leaf-work"

namespace mlir::epl {
#define GEN_PASS_DEF_SINKLEAFWORKPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numLeaves, "Ops that depend on no batch");
ALWAYS_ENABLED_STATISTIC(numSunk, "Of these, ops that went to the work which reads them");

/// The ops that depend on no batch, in program order. What iterations carry becomes anything.
static SetVector<Operation *> findLeaves(Block &body) {
  SetVector<Operation *> leaves;
  auto isLeaf = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    return producer ? leaves.contains(producer) : !isBatch(cast<BlockArgument>(value));
  };
  for (Operation &op : body.without_terminator()) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    if (!isa<LoopCarryOp>(op) && llvm::all_of(op.getOperands(), isLeaf) && llvm::all_of(captured, isLeaf))
      leaves.insert(&op);
  }
  return leaves;
}

/// The work that all users of `op` belong to; null if they differ, if one is the return, or if there is none.
static Attribute getUsersWork(Operation *op) {
  llvm::SmallSetVector<Attribute, 2> works;
  for (Operation *user : op->getUsers())
    works.insert(op->getBlock()->findAncestorOpInBlock(*user)->getAttr(EplDialect::kWorkAttr));
  return works.size() == 1 ? works.front() : Attribute();
}

static void sinkLeafWork(Block &body) {
  SetVector<Operation *> leaves = findLeaves(body);
  numLeaves += leaves.size();
  for (Operation *leaf : llvm::reverse(leaves))
    if (Attribute work = getUsersWork(leaf);
        work && work != leaf->getAttr(EplDialect::kWorkAttr) && getWorkKind(leaf) != WorkKind::recompute) {
      LDBG() << leaf->getName() << " goes to " << work;
      leaf->setAttr(EplDialect::kWorkAttr, work);
      ++numSunk;
    }
}

namespace {
struct SinkLeafWork : epl::impl::SinkLeafWorkPassBase<SinkLeafWork> {
  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      sinkLeafWork(function.front());
  }
};
} // namespace
