//===- FormTaskgraphs.cpp - Task graphs as symbols ------------------------===//
//
// Problem: the work of ops names task graphs that are entries of a table of the function.
// Method: make an `epl.taskgraph` of each entry, in order. Scopes without a name and of one strategy are one
// first: a part of a model that is called twice has two of them, and as long as all stages would run on the
// same devices, nothing tells them apart. A name does, so that what is meant as stages is not lost silently.
// Here is also where a step stops that asks for what the phases behind cannot do yet, because only here every
// op knows its task graph. Invariant in: what epl-flatten-scopes leaves. Invariant out: one task graph, or
// several that share their devices.
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

static LogicalResult verifySupported(func::FuncOp func, DictionaryAttr scopes) {
  if (scopes.size() < 2)
    return success();
  auto [first, second] = std::pair(scopes.begin()[0].getName(), scopes.begin()[1].getName());
  InFlightDiagnostic error = emitError(getStart(func, second))
                             << "several stages: not supported yet, expected scopes of one name, or of none "
                                "and one strategy, or all "
                                "on the same devices (\"cluster.colocate_split_and_replicate\")";
  error.attachNote(getStart(func, first)) << "the first stage starts here";
  return error;
}

/// Gives the work of unnamed scopes to the first one of their strategy, and what they say of parameters; the
/// table without the others.
static DictionaryAttr mergeUnnamed(func::FuncOp func, DictionaryAttr scopes) {
  SmallVector<NamedAttribute> kept;
  llvm::DenseMap<ScopeAttr, size_t> unnamed; // where a strategy's first one is in `kept`
  llvm::DenseMap<StringAttr, StringAttr> merged;
  for (NamedAttribute entry : scopes) {
    auto scope = cast<ScopeAttr>(entry.getValue());
    size_t index = kept.size();
    if (scope.getName().empty())
      index = unnamed.try_emplace(scope.withoutDims(), index).first->second;
    if (index == kept.size()) {
      kept.push_back(entry);
      continue;
    }
    kept[index].setValue(cast<ScopeAttr>(kept[index].getValue()).withDims(scope.getDims()));
    merged[entry.getName()] = kept[index].getName();
  }
  func.walk([&](Operation *op) {
    auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
    StringAttr first = work ? merged.lookup(work.getTaskgraph().getAttr()) : StringAttr();
    if (first)
      op->setAttr(EplDialect::kWorkAttr, WorkAttr::get(func.getContext(), FlatSymbolRefAttr::get(first),
                                                       work.getKind(), work.getMicro()));
  });
  return DictionaryAttr::get(func.getContext(), kept);
}

static void formTaskgraphs(func::FuncOp func, DictionaryAttr scopes) {
  OpBuilder builder(func);
  for (NamedAttribute entry : scopes) {
    auto scope = cast<ScopeAttr>(entry.getValue());
    auto strategy = StrategyAttr::get(func.getContext(), scope.getKind(), scope.getDeviceCount());
    StringAttr name = scope.getName().empty() ? StringAttr() : builder.getStringAttr(scope.getName());
    SmallVector<Attribute> wishes(scope.getDims());
    ArrayAttr dims = wishes.empty() ? ArrayAttr() : builder.getArrayAttr(wishes);
    TaskGraphOp::create(builder, getStart(func, entry.getName()), entry.getName(), strategy,
                        FlatSymbolRefAttr(), name, dims);
  }
  func->removeAttr(EplDialect::kScopesAttr);
}

namespace {
struct FormTaskgraphsPass : epl::impl::FormTaskgraphsPassBase<FormTaskgraphsPass> {
  using FormTaskgraphsPassBase::FormTaskgraphsPassBase;

  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto scopes = func->getAttrOfType<DictionaryAttr>(EplDialect::kScopesAttr);
      if (!scopes)
        continue;
      scopes = mergeUnnamed(func, scopes);
      if (!colocate && failed(verifySupported(func, scopes)))
        return signalPassFailure();
      formTaskgraphs(func, scopes);
    }
  }
};
} // namespace
