//===- VerifyTasks.cpp - What holds after form-tasks ----------------------===//
//
// Problem: work that no task holds would never be scheduled.
// Method: read only: the level's ops, and nothing but tasks, collectives and the return in a function; the
// predicate of every guard, once and before it.
// Reference: docs/design.md, 4.4.
//
//===----------------------------------------------------------------------===//

#include "dialect/Channels.h"
#include "passes/shard/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-verify-tasks"

namespace mlir::epl {
#define GEN_PASS_DEF_VERIFYTASKSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numTasks, "Tasks that were checked");
ALWAYS_ENABLED_STATISTIC(numOthers, "Ops between them");

static LogicalResult verifyGuards(Operation &op, DenseMap<int64_t, Operation *> &predicates) {
  if (auto predicate = dyn_cast<PredicateOp>(op)) {
    auto [first, isNew] = predicates.try_emplace(predicate.getId(), &op);
    if (isNew)
      return success();
    InFlightDiagnostic error = op.emitOpError()
                               << "is one of several of number " << predicate.getId() << ", expected one";
    error.attachNote(first->second->getLoc()) << "the first is here";
    return error;
  }
  if (auto guards = op.getAttrOfType<ArrayAttr>(EplDialect::kGuardsAttr))
    for (auto guard : guards.getAsRange<GuardAttr>())
      if (!predicates.contains(guard.getPredicate()))
        return op.emitOpError() << "is guarded by predicate " << guard.getPredicate()
                                << ", expected an \"epl.predicate\" of this number before it";
  return success();
}

static LogicalResult verifyFunction(func::FuncOp function) {
  if (function.isExternal())
    return success();
  DenseMap<int64_t, Operation *> predicates;
  for (Operation &op : function.front().without_terminator()) {
    if (!standsBetweenTasks(&op))
      return op.emitOpError() << "is outside of every task";
    ++(isa<TaskOp>(op) ? numTasks : numOthers);
    LDBG() << op.getName();
    if (failed(verifyGuards(op, predicates)))
      return failure();
  }
  return success();
}

namespace {
struct VerifyTasksPass : epl::impl::VerifyTasksPassBase<VerifyTasksPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyLevel(getOperation(), Level::tasks)) || failed(verifyChannels(getOperation())))
      return signalPassFailure();
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
