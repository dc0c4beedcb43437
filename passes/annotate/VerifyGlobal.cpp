//===- VerifyGlobal.cpp - The invariant of the global program -------------===//
//
// Problem: an op without its work, or of a task graph without devices, would be lost or guessed at later.
// Method: read-only walk over the functions.
// Invariant: dialect/Levels.h, "global"; the stamp is total.
//
//===----------------------------------------------------------------------===//

#include "passes/annotate/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_VERIFYGLOBALPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

static LogicalResult verifyWork(Operation *op, SymbolTable &symbols) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  if (!work)
    return op->emitError() << "'" << op->getName() << "' op has no \"" << EplDialect::kWorkAttr << "\"";
  auto taskgraph = symbols.lookup<TaskGraphOp>(work.getTaskgraph().getAttr());
  if (!taskgraph)
    return op->emitError() << "'" << op->getName() << "' op names unknown task graph " << work.getTaskgraph();
  if (!taskgraph.getMeshAttr())
    return op->emitError() << "'" << op->getName() << "' op belongs to task graph " << work.getTaskgraph()
                           << ", which has no mesh";
  return success();
}

static LogicalResult verifyWork(func::FuncOp func, SymbolTable &symbols) {
  for (Block &block : func.getBody())
    for (Operation &op : block)
      if (!op.hasTrait<OpTrait::IsTerminator>() && failed(verifyWork(&op, symbols)))
        return failure();
  return success();
}

namespace {
struct VerifyGlobalPass : epl::impl::VerifyGlobalPassBase<VerifyGlobalPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    SymbolTable symbols(getOperation());
    if (failed(verifyLevel(getOperation(), Level::global)))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(verifyWork(func, symbols)))
        return signalPassFailure();
  }
};
} // namespace
