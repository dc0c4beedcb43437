//===- FormTaskgraphs.cpp - Task graphs as symbols ------------------------===//
//
// Problem: the work of ops names task graphs that are entries of a table of the function.
// Method: make an `epl.taskgraph` of each entry, in order. Here is also where a step stops that asks for what
// the phases behind cannot do yet, because only here every op knows its task graph. Invariant in: what
// epl-flatten-scopes leaves. Invariant out: one task graph, replicated, with one device each.
//
//===----------------------------------------------------------------------===//

#include "passes/annotate/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_FORMTASKGRAPHSPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// Where the task graph of that symbol starts. Constants have no place of their own and do not count.
static Location getStart(func::FuncOp func, StringAttr symbol) {
  std::optional<Location> start;
  func.walk([&](Operation *op) {
    auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
    bool starts = work && work.getTaskgraph().getAttr() == symbol && op->getNumOperands() > 0;
    if (starts)
      start = op->getLoc();
    return starts ? WalkResult::interrupt() : WalkResult::advance();
  });
  return start.value_or(func.getLoc());
}

static LogicalResult verifySupported(func::FuncOp func, NamedAttribute entry) {
  auto scope = cast<ScopeAttr>(entry.getValue());
  if (scope.getKind() == StrategyKind::split)
    return emitError(getStart(func, entry.getName())) << "split: not supported yet";
  if (scope.getDeviceCount() > 1)
    return emitError(getStart(func, entry.getName()))
           << "device_count of " << scope.getDeviceCount() << ": not supported yet, expected 1";
  return success();
}

static LogicalResult verifySupported(func::FuncOp func, DictionaryAttr scopes) {
  for (NamedAttribute entry : scopes)
    if (failed(verifySupported(func, entry)))
      return failure();
  if (scopes.size() < 2)
    return success();
  auto getStartOf = [&](StringRef symbol) {
    return getStart(func, StringAttr::get(func.getContext(), symbol));
  };
  InFlightDiagnostic error = emitError(getStartOf("tg1")) << "several stages: not supported yet";
  error.attachNote(getStartOf("tg0")) << "the first stage starts here";
  return error;
}

static void formTaskgraphs(func::FuncOp func, DictionaryAttr scopes) {
  OpBuilder builder(func);
  for (NamedAttribute entry : scopes) {
    auto scope = cast<ScopeAttr>(entry.getValue());
    auto strategy = StrategyAttr::get(func.getContext(), scope.getKind(), scope.getDeviceCount());
    StringAttr name = scope.getName().empty() ? StringAttr() : builder.getStringAttr(scope.getName());
    TaskGraphOp::create(builder, func.getLoc(), entry.getName(), strategy, FlatSymbolRefAttr(), name);
  }
  func->removeAttr(EplDialect::kScopesAttr);
}

namespace {
struct FormTaskgraphsPass : epl::impl::FormTaskgraphsPassBase<FormTaskgraphsPass> {
  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto scopes = func->getAttrOfType<DictionaryAttr>(EplDialect::kScopesAttr);
      if (!scopes)
        continue;
      if (failed(verifySupported(func, scopes)))
        return signalPassFailure();
      formTaskgraphs(func, scopes);
    }
  }
};
} // namespace
