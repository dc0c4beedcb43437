//===- ApplyDefaults.cpp - The strategy of a step that nobody annotated ---===//
//
// Problem: a step without any annotation has no task graph, but is a legal program.
// Method: if there is no scope, neither as a region nor in a location, and no default strategy, the default
// is one `replicate` over all devices. Where the compiler chooses the stages of the step, a scope would say
// otherwise: that is an error. Invariant out: the step has a scope or a default strategy.
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

/// The first scope, or op in one; null if there is none.
static Operation *findScope(func::FuncOp func) {
  auto table = func->getAttrOfType<DictionaryAttr>(EplDialect::kScopesAttr);
  auto isScope = [&](StringRef id) { return table && table.contains(id); };
  Operation *found = nullptr;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool scope = isa<ReplicateOp, SplitOp>(op) || !parseNameStack(op->getLoc(), isScope).scopes.empty();
    found = scope ? op : nullptr;
    return scope ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

namespace {
struct ApplyDefaultsPass : epl::impl::ApplyDefaultsPassBase<ApplyDefaultsPass> {
  using ApplyDefaultsPassBase::ApplyDefaultsPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Operation *scope = findScope(func);
    if (scope && findStages) {
      emitError(scope->getLoc()) << "scope in a step whose stages the compiler chooses (auto.auto_parallel, "
                                    "--auto-parallel), expected none; to cut a part of a step write "
                                    "epl.auto_stages";
      return signalPassFailure();
    }
    if (scope || func->hasAttr(EplDialect::kDefaultStrategyAttr))
      return;
    func->setAttr(EplDialect::kDefaultStrategyAttr,
                  StrategyAttr::get(&getContext(), StrategyKind::replicate, 1));
    if (!findStages)
      emitRemark(func.getLoc())
          << "no scope and no default strategy: the step is one 'replicate' over all devices";
  }
};
} // namespace
