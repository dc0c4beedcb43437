//===- ApplyDefaults.cpp - The strategy of a step that nobody annotated ---===//
//
// Problem: a step without any annotation has no task graph, but is a legal program.
// Method: if there is no scope, neither as a region nor in a location, and no default strategy, the default
// is one `replicate` over all devices. Invariant out: the step has a scope or a default strategy.
//
//===----------------------------------------------------------------------===//

#include "passes/annotate/NameStack.h"
#include "passes/annotate/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_APPLYDEFAULTSPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

static bool hasScope(func::FuncOp func) {
  auto table = func->getAttrOfType<DictionaryAttr>(EplDialect::kScopesAttr);
  auto isScope = [&](StringRef id) { return table && table.contains(id); };
  WalkResult result = func.walk([&](Operation *op) {
    bool scope = isa<ReplicateOp, SplitOp>(op) || !parseNameStack(op->getLoc(), isScope).scopes.empty();
    return scope ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
struct ApplyDefaultsPass : epl::impl::ApplyDefaultsPassBase<ApplyDefaultsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(EplDialect::kDefaultStrategyAttr) || hasScope(func))
      return;
    func->setAttr(EplDialect::kDefaultStrategyAttr,
                  StrategyAttr::get(&getContext(), StrategyKind::replicate, 1));
    emitRemark(func.getLoc())
        << "no scope and no default strategy: the step is one 'replicate' over all devices";
  }
};
} // namespace
