//===- Rematerialize.cpp - Cheap values rematerialized where the backward work reads them --===//
//
// Problem: what the forward work makes and the backward work reads is kept between them. Automatic
// differentiation keeps far more than it has to: the four factors of a gelu's derivative, say, all of which
// are a few multiplications away from its argument and its tanh.
// Method: users before producers, a value of the forward work that the backward work reads is made again
// there if that takes a few cheap elementwise ops on values that are kept anyway, at most two as large as
// itself, so that no more memory is read. Values that a contraction or a reshape reads in the backward work
// stay: it would have to store them again. What is kept never grows. In and out: a global program, every op
// with its `epl.work`. Reference: the recomputation of fusible operators in PyTorch's min-cut partitioner.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/prepare/Recipe.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-rematerialize"

namespace mlir::epl {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numRematerialized, "Values made again for a later work");
ALWAYS_ENABLED_STATISTIC(numUnkept, "Of these, values that are kept no more");

static std::optional<WorkKind> getKind(Operation *op) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  return work ? std::optional(work.getKind()) : std::nullopt;
}

static Operation *getUser(OpOperand &use) {
  Operation *user = use.getOwner();
  return use.get().getParentBlock()->findAncestorOpInBlock(*user);
}

static bool isKept(Value value) {
  Operation *producer = value.getDefiningOp();
  return !producer || llvm::any_of(value.getUses(),
                                   [](OpOperand &use) { return getKind(getUser(use)) != WorkKind::forward; });
}

/// Makes the op's result again in each work that follows the forward one, if that is worth it. What nothing
/// reads any more goes.
static void rematerialize(Operation *op) {
  Value value = op->getResult(0);
  llvm::MapVector<Attribute, SmallVector<OpOperand *>> readers; // by their work
  for (OpOperand &use : value.getUses()) {
    Operation *user = getUser(use);
    if (getKind(user) == WorkKind::forward)
      continue;
    if (use.getOwner() != user || !Recipe::isReader(user))
      return;
    readers[user->getAttr(EplDialect::kWorkAttr)].push_back(&use);
  }
  Recipe recipe(op, [](Value input) { return isKept(input) ? input : Value(); });
  if (!recipe.isGood())
    return;
  for (auto &[work, uses] : readers) {
    LDBG() << op->getName() << " of " << value.getType() << " again for " << work;
    ++numRematerialized;
    recipe.replace(uses);
  }
  if (value.use_empty()) {
    op->erase();
    ++numUnkept;
  }
}

namespace {
struct Rematerialize : epl::impl::RematerializePassBase<Rematerialize> {
  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
        if (getKind(&op) == WorkKind::forward && isa<linalg::GenericOp>(op) && Recipe::isCheap(&op))
          rematerialize(&op);
  }
};
} // namespace
