//===- FlattenScopes.cpp - One flat list of ops that know their work ------===//
//
// Problem: scopes come as regions or as names in locations, and both are fragile: any pass may move an op out
// of a region, and cse merges equal ops of two scopes into one that has the location of the first. Method:
// inline the regions, then give each op an attribute that says where it belongs. Attributes keep unequal ops
// apart in cse. One walk forwards reads what the user and the tracer say, and finds the kind of unmarked work
// by data flow; two more walks give the ops outside every scope the task graph of a neighbour. The iterations
// of a loop are one work: where a scope marks some of it, the rest belongs to that; else all of it goes where
// most of what it reads is made, so that a loop's gradient is with the loop. What the tracer has marked says
// the kind of the rest, too. Invariant in: design 4.1, named linalg ops generalized. Invariant out: no
// scopes, no dead ops; every op has an `epl.work`; `epl.scopes` describes the task graphs @tg0, @tg1 ... that
// these name, in the order in which they begin. Reference: EPL's rules of task graphs (strategy contexts);
// location names as JAX makes them (NameStack.h).
//
//===----------------------------------------------------------------------===//

#include "dialect/Bytes.h"
#include "dialect/Loops.h"
#include "dialect/Stages.h"
#include "passes/annotate/DeadOps.h"
#include "passes/annotate/InlineScopes.h"
#include "passes/annotate/NameStack.h"
#include "passes/annotate/Passes.h"
#include "passes/annotate/TaskGraphs.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Statistic.h"

#define DEBUG_TYPE "epl-flatten-scopes"

namespace mlir::epl {
#define GEN_PASS_DEF_FLATTENSCOPESPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numForward, "Ops of forward work");
ALWAYS_ENABLED_STATISTIC(numBackward, "Ops of backward work");
ALWAYS_ENABLED_STATISTIC(numRecompute, "Ops that are recomputed");
ALWAYS_ENABLED_STATISTIC(numApply, "Ops that apply gradients");
ALWAYS_ENABLED_STATISTIC(numDead, "Dead ops that were erased");

namespace {
struct Stamp {
  std::optional<unsigned> taskgraph;
  WorkKind kind = WorkKind::forward;
  bool perMicroBatch = false;
};

/// Finds the work of every op of one function.
class Stamper {
public:
  Stamper(func::FuncOp func, const llvm::DenseMap<Operation *, RegionScope> &regions, int64_t stages);

  LogicalResult run();
  /// Sets the attributes of the ops and of the function.
  void write();
  Stamp get(Operation *op) const { return stamps.lookup(op); }

private:
  void findPhases();
  LogicalResult stamp(Operation *op, const NameStack &stack);
  WorkKind getKind(Operation *op, AutodiffPhase phase);
  FailureOr<unsigned> getScoped(Operation *op, ArrayRef<ScopeEntry> entries);
  FailureOr<unsigned> getTaskGraph(Operation *op, ScopeAttr scope, int64_t stages, ScopeKey key);
  unsigned getDefault(Operation *op);
  std::optional<unsigned> getLastProducer(Operation *op);
  std::optional<unsigned> getFirstConsumer(Operation *op);
  void findMarkedLoops();
  LoopAttr getUnmarkedLoop(Operation *op);
  bool isNeighbour(Operation *op, Operation *other);
  std::optional<unsigned> getMostRead(LoopAttr loop);
  void stampLoop(LoopAttr loop, std::optional<unsigned> taskgraph);
  void stampRest();

  SmallVector<unsigned> getOrder();

  auto getOps() { return body.without_terminator(); }
  void forEachProducer(Operation *op, function_ref<void(Operation *)> visit);

  func::FuncOp func;
  Block &body;
  const llvm::DenseMap<Operation *, RegionScope> &regions;
  DictionaryAttr table;
  StrategyAttr defaultStrategy;
  int64_t defaultStages; ///< of the default strategy's task graph
  Loops loops;
  SmallVector<NameStack> stacks;                  ///< of the ops in their order
  llvm::DenseMap<LoopAttr, AutodiffPhase> phases; ///< of loops, as the tracer says it of some op
  TaskGraphs taskgraphs;
  llvm::DenseMap<Operation *, Stamp> stamps;
  llvm::DenseMap<LoopAttr, unsigned>
      marked; ///< loops with scopes in their iterations, and the first one's graph
};
} // namespace

Stamper::Stamper(func::FuncOp func, const llvm::DenseMap<Operation *, RegionScope> &regions, int64_t stages)
    : func(func), body(func.getBody().front()), regions(regions),
      table(func->getAttrOfType<DictionaryAttr>(EplDialect::kScopesAttr)),
      defaultStrategy(func->getAttrOfType<StrategyAttr>(EplDialect::kDefaultStrategyAttr)),
      defaultStages(stages), loops(body) {}

LogicalResult Stamper::run() {
  for (Operation &op : getOps())
    stacks.push_back(parseNameStack(op.getLoc(), [&](StringRef id) { return table && table.contains(id); }));
  findPhases();
  for (auto [op, stack] : llvm::zip_equal(getOps(), stacks))
    if (failed(stamp(&op, stack)))
      return failure();
  stampRest();
  return success();
}

//===----------------------------------------------------------------------===//
// What the user and the tracer say
//===----------------------------------------------------------------------===//

/// Of a loop with gradients of iterations, which read what is computed again and what is kept, that of these.
void Stamper::findPhases() {
  for (auto [op, stack] : llvm::zip_equal(getOps(), stacks))
    if (LoopAttr loop = loops.getLoop(&op); loop && stack.phase != AutodiffPhase::none) {
      AutodiffPhase &phase = phases.try_emplace(loop, stack.phase).first->second;
      if (stack.phase == AutodiffPhase::backward)
        phase = stack.phase;
    }
}

LogicalResult Stamper::stamp(Operation *op, const NameStack &stack) {
  Stamp stamp;
  stamp.kind =
      getKind(op, stack.phase != AutodiffPhase::none ? stack.phase : phases.lookup(loops.getLoop(op)));
  stamp.perMicroBatch = stack.perMicroBatch && op->getNumOperands() > 0;
  if (regions.contains(op) || !stack.scopes.empty()) {
    FailureOr<unsigned> scoped = getScoped(op, stack.scopes);
    if (failed(scoped))
      return failure();
    stamp.taskgraph.emplace(*scoped);
  } else if (defaultStrategy && stamp.kind == WorkKind::forward && op->getNumOperands() > 0) {
    stamp.taskgraph = getDefault(op);
  }
  stamps[op] = stamp;
  return success();
}

/// Calls `visit` with each op of the body that makes a value which `op`, or an op inside it, uses.
void Stamper::forEachProducer(Operation *op, function_ref<void(Operation *)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &body)
        visit(producer);
  });
}

/// The kind that the tracer left; by data flow if it left none.
WorkKind Stamper::getKind(Operation *op, AutodiffPhase phase) {
  switch (phase) {
  case AutodiffPhase::forward:
    return WorkKind::forward;
  case AutodiffPhase::backward:
    return WorkKind::backward;
  case AutodiffPhase::recompute:
    return WorkKind::recompute;
  case AutodiffPhase::none:
    break;
  }
  WorkKind kind = WorkKind::forward;
  forEachProducer(op, [&](Operation *producer) {
    if (llvm::is_contained({WorkKind::backward, WorkKind::apply}, stamps.lookup(producer).kind))
      kind = WorkKind::apply;
  });
  return kind;
}

static std::string describe(ScopeAttr scope, int64_t stages) {
  return ("'" + stringifyStrategyKind(scope.getKind()) + "' on " + Twine(scope.getDeviceCount()) +
          " device(s)" + (stages > 1 ? " in each of " + Twine(stages) + " stages" : Twine()))
      .str();
}

FailureOr<unsigned> Stamper::getTaskGraph(Operation *op, ScopeAttr scope, int64_t stages, ScopeKey key) {
  if (!scope.getName().empty())
    key = {StringAttr::get(func.getContext(), scope.getName()), {}};
  unsigned index = taskgraphs.getOrCreate(scope, stages, key, op);
  ScopeAttr &first = taskgraphs.scopes[index];
  if (first.withoutDims() == scope.withoutDims() && taskgraphs.stages[index] == stages) {
    first = first.withDims(scope.getDims());
    return index;
  }
  InFlightDiagnostic error = emitError(op->getLoc())
                             << "scope \"" << scope.getName() << "\" is " << describe(scope, stages)
                             << ", expected " << describe(first, taskgraphs.stages[index]);
  error.attachNote(taskgraphs.firstOps[index]->getLoc()) << "the first scope of this name is here";
  return error;
}

/// The task graph of an op in a scope: of the region if there is one, else of the location.
FailureOr<unsigned> Stamper::getScoped(Operation *op, ArrayRef<ScopeEntry> entries) {
  if (auto it = regions.find(op); it != regions.end()) {
    auto ordinal = IntegerAttr::get(IndexType::get(func.getContext()), it->second.ordinal);
    return getTaskGraph(op, it->second.scope, it->second.stages, {ordinal, {}});
  }
  if (entries.size() > 1)
    return emitError(op->getLoc()) << "'" << op->getName() << "' op is in scope \"" << entries[1].id
                                   << "\" inside scope \"" << entries[0].id << "\": scopes do not nest";
  auto id = StringAttr::get(func.getContext(), entries[0].id);
  return getTaskGraph(op, table.getAs<ScopeAttr>(id), getNumStages(func, id), {id, entries[0].callPath});
}

//===----------------------------------------------------------------------===//
// Ops outside every scope
//===----------------------------------------------------------------------===//

/// The task graph of the default strategy; without one the first of all.
unsigned Stamper::getDefault(Operation *op) {
  if (!defaultStrategy && !taskgraphs.scopes.empty())
    return 0;
  MLIRContext *context = func.getContext();
  auto kind = defaultStrategy ? defaultStrategy.getKind() : StrategyKind::replicate;
  int64_t devices = defaultStrategy ? defaultStrategy.getDeviceCount() : 1;
  LocationAttr place = defaultStages > 1 ? LocationAttr(func.getLoc()) : LocationAttr();
  return taskgraphs.getOrCreate(ScopeAttr::get(context, kind, devices, "", {}, place), defaultStages,
                                {UnitAttr::get(context), {}}, op);
}

std::optional<unsigned> Stamper::getLastProducer(Operation *op) {
  Operation *last = nullptr;
  forEachProducer(op, [&](Operation *producer) {
    if (isNeighbour(op, producer) && (!last || last->isBeforeInBlock(producer)))
      last = producer;
  });
  return last ? stamps.lookup(last).taskgraph : std::nullopt;
}

std::optional<unsigned> Stamper::getFirstConsumer(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *consumer = body.findAncestorOpInBlock(*user);
    if (isNeighbour(op, consumer) && (!first || consumer->isBeforeInBlock(first)))
      first = consumer;
  }
  return first ? stamps.lookup(first).taskgraph : std::nullopt;
}

void Stamper::findMarkedLoops() {
  for (Operation &op : getOps())
    if (LoopAttr loop = loops.getLoop(&op); loop && stamps[&op].taskgraph)
      marked.try_emplace(loop, *stamps[&op].taskgraph);
}

/// The loop of an op, if no scope marks work of it.
LoopAttr Stamper::getUnmarkedLoop(Operation *op) {
  LoopAttr loop = loops.getLoop(op);
  return marked.contains(loop) ? LoopAttr() : loop;
}

/// Whether `op` may get the task graph of `other`: work of a loop that scopes mark gets one of these.
bool Stamper::isNeighbour(Operation *op, Operation *other) {
  LoopAttr loop = loops.getLoop(op);
  return stamps.lookup(other).taskgraph && (!marked.contains(loop) || loops.getLoop(other) == loop);
}

/// The task graph that makes the most of what a loop reads from outside; the first of several.
std::optional<unsigned> Stamper::getMostRead(LoopAttr loop) {
  llvm::SetVector<Value> read;
  for (Operation &op : getOps())
    if (loops.getLoop(&op) == loop)
      op.walk([&](Operation *inner) { read.insert_range(inner->getOperands()); });
  llvm::MapVector<unsigned, int64_t> bytes;
  for (Value value : read)
    if (Operation *producer = value.getDefiningOp(); producer && stamps.lookup(producer).taskgraph)
      bytes[*stamps.lookup(producer).taskgraph] += getBytes(value);
  auto *most = llvm::max_element(bytes, [](auto &a, auto &b) { return a.second < b.second; });
  return most == bytes.end() ? std::nullopt : std::optional(most->first);
}

void Stamper::stampLoop(LoopAttr loop, std::optional<unsigned> taskgraph) {
  for (Operation &op : getOps())
    if (loops.getLoop(&op) == loop)
      stamps[&op].taskgraph = taskgraph;
}

/// Producers first, because what follows a stage (a loss, an optimizer) runs with it; then consumers, for
/// what stands before the first scope; then the default. A loop has all its producers before what leaves it.
void Stamper::stampRest() {
  findMarkedLoops();
  auto visit = [&](Operation &op, function_ref<std::optional<unsigned>(LoopAttr)> find) {
    LoopAttr loop = getUnmarkedLoop(&op);
    if (stamps[&op].taskgraph || (loop && !leavesLoop(&op)))
      return;
    if (loop)
      stampLoop(loop, find(loop));
    else
      stamps[&op].taskgraph = find({});
  };
  for (Operation &op : getOps())
    visit(op, [&](LoopAttr loop) { return loop ? getMostRead(loop) : getLastProducer(&op); });
  for (Operation &op : llvm::reverse(getOps()))
    visit(op, [&](LoopAttr) { return getFirstConsumer(&op); });
  for (Operation &op : getOps())
    if (auto known = marked.find(loops.getLoop(&op)); !stamps[&op].taskgraph)
      stamps[&op].taskgraph = known == marked.end() ? getDefault(&op) : known->second;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The task graphs in the order in which they begin to work on arguments, which is that of the user's scopes;
/// constants stand anywhere.
SmallVector<unsigned> Stamper::getOrder() {
  llvm::SetVector<unsigned> order;
  llvm::DenseSet<Operation *> started; // ops that depend on an argument
  for (Operation &op : getOps()) {
    bool starts = llvm::any_of(op.getOperands(), llvm::IsaPred<BlockArgument>);
    forEachProducer(&op, [&](Operation *producer) { starts |= started.contains(producer); });
    if (!starts)
      continue;
    started.insert(&op);
    order.insert(*stamps.lookup(&op).taskgraph);
  }
  for (unsigned index = 0; index < taskgraphs.scopes.size(); ++index)
    order.insert(index);
  return order.takeVector();
}

void Stamper::write() {
  MLIRContext *context = func.getContext();
  SmallVector<unsigned> order = getOrder();
  auto getSymbol = [&](unsigned index) {
    return StringAttr::get(context, "tg" + Twine(llvm::find(order, index) - order.begin()));
  };
  for (Operation &op : getOps()) {
    Stamp stamp = stamps.lookup(&op);
    auto symbol = FlatSymbolRefAttr::get(getSymbol(*stamp.taskgraph));
    op.setAttr(EplDialect::kWorkAttr, WorkAttr::get(context, symbol, stamp.kind));
    if (stamp.perMicroBatch)
      op.setAttr(EplDialect::kPerMicroBatchAttr, UnitAttr::get(context));
  }
  SmallVector<NamedAttribute> scopes, stages;
  for (unsigned index : order) {
    scopes.emplace_back(getSymbol(index), taskgraphs.scopes[index]);
    if (int64_t count = taskgraphs.stages[index]; count > 1)
      stages.emplace_back(getSymbol(index), IntegerAttr::get(IntegerType::get(context, 64), count));
  }
  if (scopes.empty()) // a step that only returns its arguments may still have to move them
    scopes.emplace_back(getSymbol(0), ScopeAttr::get(context, StrategyKind::replicate, 1, "", {}, {}));
  func->setAttr(EplDialect::kScopesAttr, DictionaryAttr::get(context, scopes));
  func->removeAttr(EplDialect::kDefaultStrategyAttr);
  func->removeAttr(kStagesAttr);
  if (!stages.empty())
    func->setAttr(kStagesAttr, DictionaryAttr::get(context, stages));
}

namespace {
struct FlattenScopesPass : epl::impl::FlattenScopesPassBase<FlattenScopesPass> {
  using FlattenScopesPassBase::FlattenScopesPassBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &body = getOperation().getBody().front();
    if (failed(verifyLoops(body)))
      return signalPassFailure();
    llvm::DenseMap<Operation *, RegionScope> regions = inlineScopes(body);
    markCheckpoints(body);
    numDead += eraseDeadOps(body);
    Stamper stamper(getOperation(), regions, stages);
    if (failed(stamper.run()))
      return signalPassFailure();
    stamper.write();
    for (Operation &op : body.without_terminator())
      count(stamper.get(&op).kind);
  }

private:
  void count(WorkKind kind) {
    switch (kind) {
    case WorkKind::forward:
      return void(++numForward);
    case WorkKind::backward:
    case WorkKind::backward_input:
    case WorkKind::backward_weight:
      return void(++numBackward);
    case WorkKind::recompute:
      return void(++numRecompute);
    case WorkKind::apply:
      return void(++numApply);
    }
  }
};
} // namespace
