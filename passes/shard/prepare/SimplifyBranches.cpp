//===- SimplifyBranches.cpp - In a branch, selections by its predicate are known ------===//
//
// Problem: what one branch of a forward computation leaves for the same branch of the backward one goes
// through a selection, since the other branch leaves zeros in its place: a copy of each such value, made and
// kept whichever branch is taken. Method: where a use matters only while a predicate has one value, a
// selection by that predicate is the side that is taken then. In and out: a global program; what a branch
// computes changes only where nobody reads it. Reference: Branches.h.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Branches.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-simplify-branches"

namespace mlir::epl {
#define GEN_PASS_DEF_SIMPLIFYBRANCHESPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numResolved, "Operands that the branch decides in which they are read");
ALWAYS_ENABLED_STATISTIC(numErased, "Ops that nothing reads any more");

/// What `value` is where all of `guard` holds.
static Value resolve(Value value, ArrayRef<Literal> guard) {
  while (Operation *op = value.getDefiningOp()) {
    std::optional<Selection> selection = matchSelection(op);
    if (!selection)
      break;
    Value taken = llvm::is_contained(guard, Literal{selection->predicate, true})    ? selection->onTrue
                  : llvm::is_contained(guard, Literal{selection->predicate, false}) ? selection->onFalse
                                                                                    : Value();
    if (!taken)
      break;
    value = taken;
  }
  return value;
}

static void simplifyBranches(Block &body) {
  Branches branches(body);
  if (branches.empty())
    return;
  for (Operation &op : body.without_terminator())
    for (OpOperand &use : op.getOpOperands()) {
      Value taken = resolve(use.get(), branches.getGuard(use));
      if (taken == use.get())
        continue;
      LDBG() << op.getName() << " reads one side of a selection as operand " << use.getOperandNumber();
      ++numResolved;
      use.set(taken);
    }
  SmallVector<Operation *> ops =
      llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op)) {
      op->erase();
      ++numErased;
    }
}

namespace {
struct SimplifyBranches : epl::impl::SimplifyBranchesPassBase<SimplifyBranches> {
  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      simplifyBranches(function.front());
  }
};
} // namespace
