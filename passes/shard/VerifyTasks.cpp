//===- VerifyTasks.cpp - What holds after form-tasks ----------------------===//
//
// Problem: work that no task holds would never be scheduled.
// Method: read only: the level's ops, and nothing but tasks, collectives and the return in a function.
// Reference: docs/design.md, 4.4.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {
#define GEN_PASS_DEF_VERIFYTASKSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

static LogicalResult verifyFunction(func::FuncOp function) {
  if (function.isExternal())
    return success();
  for (Operation &op : function.front().without_terminator())
    if (!standsBetweenTasks(&op))
      return op.emitOpError() << "is outside of every task";
  return success();
}

namespace {
struct VerifyTasksPass : epl::impl::VerifyTasksPassBase<VerifyTasksPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyLevel(getOperation(), Level::tasks)))
      return signalPassFailure();
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
