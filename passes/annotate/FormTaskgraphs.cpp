//===- FormTaskgraphs.cpp - Task graphs as symbols ------------------------===//
//
// Problem: the work of ops names task graphs that are entries of a table of the function.
// Method: make an `epl.taskgraph` of each entry, in the order in which data flows through their forward work,
// which is that of a pipeline's stages; where it says nothing, or goes round, in the order in which they
// begin. A discriminator may look at real samples before the generator begins, and still comes behind it. A
// scope that is to be cut into stages has a task graph for each, of which the first has all of its work until
// `epl-find-stages`.
//
// Where all run on the same devices, scopes without a name and of one strategy are one first: a part of a
// model that is called twice has two of them, and nothing tells them apart. So are they where there are not
// devices enough for each to have its own: a program whose layers have a scope each runs on few devices, too.
// A name keeps apart what is meant as stages.
//
// Invariant in: what epl-flatten-scopes leaves. Invariant out: one task graph, or several.
//
//===----------------------------------------------------------------------===//

#include "dialect/Stages.h"
#include "passes/annotate/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::epl {
#define GEN_PASS_DEF_FORMTASKGRAPHSPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// The first op of each task graph's work. Constants have no place of their own and do not count.
static llvm::MapVector<StringAttr, Operation *> findStarts(func::FuncOp func) {
  llvm::MapVector<StringAttr, Operation *> starts;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
    if (work && op->getNumOperands() > 0)
      starts.try_emplace(work.getTaskgraph().getAttr(), op);
  });
  return starts;
}

/// The task graph of an op's forward work, if it does some.
static StringAttr getForward(Operation *op) {
  auto work = op ? op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr) : WorkAttr();
  return work && work.getKind() == WorkKind::forward ? work.getTaskgraph().getAttr() : StringAttr();
}

/// The task graphs that each one's forward work reads from. What depends on no argument is made anywhere.
static llvm::DenseMap<StringAttr, llvm::DenseSet<StringAttr>> findSources(func::FuncOp func) {
  llvm::DenseMap<StringAttr, llvm::DenseSet<StringAttr>> sources;
  llvm::DenseSet<Operation *> dependent;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    StringAttr reader = getForward(op);
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && !dependent.contains(producer))
        continue;
      dependent.insert(op);
      StringAttr maker = getForward(producer);
      if (reader && maker && maker != reader)
        sources[reader].insert(maker);
    }
  });
  return sources;
}

/// `starts` in the order in which data flows through forward work.
static SmallVector<StringAttr> sortByFlow(func::FuncOp func,
                                          const llvm::MapVector<StringAttr, Operation *> &starts) {
  llvm::DenseMap<StringAttr, llvm::DenseSet<StringAttr>> sources = findSources(func);
  auto open = llvm::to_vector(llvm::make_first_range(starts));
  SmallVector<StringAttr> sorted;
  while (!open.empty()) {
    auto isOpen = [&](StringAttr name) { return llvm::is_contained(open, name); };
    auto isNext = [&](StringAttr name) { return llvm::none_of(sources[name], isOpen); };
    auto *next = llvm::find_if(open, isNext);
    if (next == open.end())
      next = open.begin(); // all that are left read from each other
    sorted.push_back(*next);
    open.erase(next);
  }
  return sorted;
}

/// The entries of the table in the order of stages; those without any work come last.
static SmallVector<NamedAttribute> sortEntries(func::FuncOp func, DictionaryAttr scopes,
                                               const llvm::MapVector<StringAttr, Operation *> &starts) {
  SmallVector<NamedAttribute> sorted;
  for (StringAttr name : sortByFlow(func, starts))
    if (std::optional<NamedAttribute> entry = scopes.getNamed(name))
      sorted.push_back(*entry);
  for (NamedAttribute entry : scopes)
    if (!starts.contains(entry.getName()))
      sorted.push_back(entry);
  return sorted;
}

/// The devices that all scopes want together, each of its own.
static int64_t sumCounts(func::FuncOp func, DictionaryAttr scopes) {
  int64_t sum = 0;
  for (NamedAttribute entry : scopes)
    sum += cast<ScopeAttr>(entry.getValue()).getDeviceCount() * getNumStages(func, entry.getName());
  return sum;
}

/// Gives the work of unnamed scopes to the first one of their strategy, and what they say of parameters; the
/// table without the others.
static DictionaryAttr mergeUnnamed(func::FuncOp func, DictionaryAttr scopes) {
  SmallVector<NamedAttribute> kept;
  // Where the first one of a strategy and a number of stages is in `kept`.
  llvm::DenseMap<std::pair<ScopeAttr, int64_t>, size_t> unnamed;
  llvm::DenseMap<StringAttr, StringAttr> merged;
  for (NamedAttribute entry : scopes) {
    auto scope = cast<ScopeAttr>(entry.getValue());
    size_t index = kept.size();
    if (scope.getName().empty())
      index = unnamed.try_emplace({scope.withoutDims(), getNumStages(func, entry.getName())}, index)
                  .first->second;
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
      op->setAttr(EplDialect::kWorkAttr,
                  WorkAttr::get(func.getContext(), FlatSymbolRefAttr::get(first), work.getKind()));
  });
  return DictionaryAttr::get(func.getContext(), kept);
}

/// Makes the task graphs of a scope's stages behind the first, if it is to be cut.
static void createStages(OpBuilder &builder, TaskGraphOp first, int64_t count) {
  SmallVector<Attribute> stages;
  for (int64_t stage = 1; stage < count; ++stage) {
    auto name = builder.getStringAttr(first.getSymName() + "_" + Twine(stage));
    TaskGraphOp::create(builder, first.getLoc(), name, first.getStrategy(), FlatSymbolRefAttr(), StringAttr(),
                        ArrayAttr());
    stages.push_back(FlatSymbolRefAttr::get(name));
  }
  if (!stages.empty())
    first->setAttr(kStagesAttr, builder.getArrayAttr(stages));
}

static void formTaskgraphs(func::FuncOp func, DictionaryAttr scopes) {
  OpBuilder builder(func);
  llvm::MapVector<StringAttr, Operation *> starts = findStarts(func);
  for (NamedAttribute entry : sortEntries(func, scopes, starts)) {
    auto scope = cast<ScopeAttr>(entry.getValue());
    auto strategy = StrategyAttr::get(func.getContext(), scope.getKind(), scope.getDeviceCount());
    StringAttr name = scope.getName().empty() ? StringAttr() : builder.getStringAttr(scope.getName());
    SmallVector<Attribute> constraints(scope.getDims());
    ArrayAttr dims = constraints.empty() ? ArrayAttr() : builder.getArrayAttr(constraints);
    Operation *start = starts.lookup(entry.getName());
    Location place = scope.getPlace() ? Location(scope.getPlace()) : start ? start->getLoc() : func.getLoc();
    auto taskgraph =
        TaskGraphOp::create(builder, place, entry.getName(), strategy, FlatSymbolRefAttr(), name, dims);
    createStages(builder, taskgraph, getNumStages(func, entry.getName()));
  }
  func->removeAttr(kStagesAttr);
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
      if (!keepUnnamed && (colocate || (!scopes.empty() && devices % sumCounts(func, scopes) != 0)))
        scopes = mergeUnnamed(func, scopes);
      formTaskgraphs(func, scopes);
    }
  }
};
} // namespace
