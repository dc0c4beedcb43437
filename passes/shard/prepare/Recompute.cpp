//===- Recompute.cpp - Forward work that is done again for the gradient ---===//
//
// Problem: what a gradient reads is kept from the forward work on, of all layers at a time.
// Method: some values are kept (those that the user names, or those where little crosses, Checkpoints.h).
//   What lies before them is made again from them, as work `recompute` of the same task graph. Ops of one
//   part, between kept values, stand together in front of the first op that reads one of them, so that they
//   are done as late as possible and in as few tasks as possible. All ops are functions of their operands,
//   random bits too, so that the results are the same bits. What no kept value is made of (the last part) is
//   read at once and stays. A value that another task graph makes is kept: it may have been sent.
// Invariant in: a global program, every op with its `epl.work`; loops over micro-batches are formed.
// Invariant out: the same; no op has an `epl.checkpoint`.
// Reference: docs/design.md, 4.3; EPL's gradient checkpoints; Chen et al., "Training Deep Nets with Sublinear
//   Memory Cost", 2016.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/prepare/Checkpoints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-recompute"

namespace mlir::epl {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numKept, "Values that are kept");
ALWAYS_ENABLED_STATISTIC(numAgain, "Ops that are done again");
ALWAYS_ENABLED_STATISTIC(numMoved, "Of these, ops that are done only for the gradient");

//===----------------------------------------------------------------------===//
// What is done again
//===----------------------------------------------------------------------===//

namespace {
/// An op that is done again, for a part.
using Again = std::pair<Operation *, unsigned>;

/// The ops of one forward work that are done again.
class Recomputation {
public:
  /// `leading`: the forward ops that kept values are made of.
  Recomputation(const ForwardWork &work, const Checkpoints &kept, const DenseSet<Operation *> &leading)
      : work(work), kept(kept), leading(leading) {
    findParts();
    findShared();
    findBeforeKept();
    findNeeded();
    findPlaces();
  }

  void run();

private:
  bool isKept(Value value) const {
    return kept.contains(value) || shared.contains(value) || work.isKept(value);
  }
  bool isOfBatch(Operation *op) const {
    return llvm::any_of(op->getResults(), [&](Value result) { return work.isOfBatch(result); });
  }
  SmallVector<Value> getMade(Operation *op) const;
  void findParts();
  void findShared();
  bool isBeforeKept(Value operand) const;
  void findBeforeKept();
  SmallVector<OpOperand *> getReaders(Operation *op) const;
  void findNeeded();
  void findPlaces();
  void moveTo(Again again, Operation *reader);
  void clone(Operation *op, unsigned part, MutableArrayRef<IRMapping> again);

  const ForwardWork &work;
  const Checkpoints &kept;
  const DenseSet<Operation *> &leading;
  DenseMap<Operation *, unsigned> parts; ///< the part of each op; of one that depends on no batch, its last
  unsigned numParts = 1;
  DenseSet<Value> shared; ///< values that the gradients of several parts read, and that depend on no batch
  DenseSet<Operation *> beforeKept;
  DenseMap<Operation *, llvm::SmallSetVector<unsigned, 2>>
      needed;                          ///< the ops that are done again, for which parts
  DenseMap<Again, Operation *> places; ///< the op in front of which they are
};
} // namespace

/// The operands that are values of the work, but for those that are there in any case.
SmallVector<Value> Recomputation::getMade(Operation *op) const {
  return llvm::filter_to_vector(getUsedValues(op), [&](Value value) {
    Operation *producer = value.getDefiningOp();
    return producer && work.contains(producer) && (kept.contains(value) || !work.isKept(value));
  });
}

/// An op is in the part behind the kept values that it is made of.
void Recomputation::findParts() {
  for (Operation *op : work.getOps()) {
    if (!isOfBatch(op))
      continue;
    unsigned part = 0;
    for (Value operand : getMade(op)) {
      auto known = kept.find(operand);
      part = std::max(part, known == kept.end() ? parts.lookup(operand.getDefiningOp()) : known->second + 1);
    }
    parts[op] = part;
    numParts = std::max(numParts, part + 1);
  }
}

/// What depends on no batch, such as a random mask, is in the part that reads it. Where several do it is made
/// for each, so that it need not be kept from one to another; unless gradients read it themselves: it is one
/// value for all parts then.
void Recomputation::findShared() {
  DenseMap<Operation *, unsigned> first;
  for (Operation *op : llvm::reverse(work.getOps())) {
    if (isOfBatch(op)) {
      first[op] = parts.lookup(op);
      continue;
    }
    unsigned from = numParts, to = 0;
    for (OpOperand &use : op->getUses())
      if (auto user = first.find(getBlockUser(use)); user != first.end()) {
        from = std::min(from, user->second);
        to = std::max(to, parts.lookup(user->first));
      }
    first[op] = from;
    parts[op] = to;
    for (Value result : op->getResults())
      if (from < to && !work.getReaders(result).empty())
        shared.insert(result);
  }
}

/// Whether an op that reads the value may be done again: not behind the last kept value.
bool Recomputation::isBeforeKept(Value operand) const {
  if (!kept.contains(operand))
    return beforeKept.contains(operand.getDefiningOp());
  return llvm::any_of(operand.getUses(), [&](OpOperand &use) { return leading.contains(getBlockUser(use)); });
}

/// The ops before the last kept value, and with them those that only gradients read: these are made of values
/// from there alone.
void Recomputation::findBeforeKept() {
  for (Operation *op : work.getOps()) {
    SmallVector<Value> operands = getMade(op);
    auto isBefore = [&](Value operand) { return isBeforeKept(operand); };
    if (leading.contains(op) || (!operands.empty() && llvm::all_of(operands, isBefore)))
      beforeKept.insert(op);
  }
}

/// The uses of what the op makes by gradients.
SmallVector<OpOperand *> Recomputation::getReaders(Operation *op) const {
  SmallVector<OpOperand *> readers;
  for (Value result : op->getResults())
    if (!isKept(result))
      llvm::append_range(readers, work.getReaders(result));
  return readers;
}

void Recomputation::findNeeded() {
  for (Operation *op : llvm::reverse(work.getOps())) {
    if (!beforeKept.contains(op))
      continue;
    llvm::SmallSetVector<unsigned, 2> readBy;
    if (!getReaders(op).empty())
      readBy.insert(parts.lookup(op));
    for (Value result : op->getResults())
      for (OpOperand &use : result.getUses())
        if (auto user = needed.find(getBlockUser(use)); user != needed.end() && !isKept(result))
          readBy.insert_range(user->second);
    if (!readBy.empty() && isOfBatch(op)) {
      readBy.clear();
      readBy.insert(parts.lookup(op));
    }
    if (!readBy.empty())
      needed[op] = readBy;
  }
}

void Recomputation::moveTo(Again again, Operation *reader) {
  Operation *&place = places[again];
  if (!place || reader->isBeforeInBlock(place))
    place = reader;
}

/// Ops stand with the others of their part, but not behind what is made of them. Where a step makes two
/// gradients one after the other, readers for the first one stand before what is made for the second.
void Recomputation::findPlaces() {
  SmallVector<SmallVector<Operation *>> readers(numParts); // of each part, in program order
  for (Operation *op : work.getOps())
    if (needed.contains(op))
      for (OpOperand *use : getReaders(op))
        readers[parts.lookup(op)].push_back(getBlockUser(*use));
  auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  for (SmallVector<Operation *> &own : readers)
    llvm::sort(own, isBefore);
  for (Operation *op : llvm::reverse(work.getOps()))
    for (unsigned part : needed.lookup(op)) {
      if (auto first = llvm::upper_bound(readers[part], op, isBefore); first != readers[part].end())
        moveTo({op, part}, *first);
      for (OpOperand &use : op->getUses()) {
        Operation *user = getBlockUser(use);
        for (unsigned other : needed.lookup(user))
          if (isOfBatch(op) || other == part)
            moveTo({op, part}, places.lookup({user, other}));
      }
    }
}

void Recomputation::clone(Operation *op, unsigned part, MutableArrayRef<IRMapping> again) {
  for (Value value : getUsedValues(op)) // of earlier parts, if these are not kept
    if (Operation *producer = value.getDefiningOp(); producer && !again[part].contains(value))
      if (Value made = again[parts.lookup(producer)].lookupOrNull(value))
        again[part].map(value, made);
  OpBuilder builder(places.lookup({op, part}));
  Operation *clone = builder.clone(*op, again[part]);
  clone->setAttr(EplDialect::kWorkAttr,
                 WorkAttr::get(op->getContext(), work.getTaskGraph(), WorkKind::recompute));
  for (Value result : op->getResults())
    if (isKept(result))
      again[part].erase(result);
  if (part == parts.lookup(op))
    for (OpOperand *use : getReaders(op))
      use->set(again[part].lookup(use->get()));
  ++numAgain;
}

void Recomputation::run() {
  SmallVector<IRMapping, 0> again(numParts); // what values are in each part
  for (Operation *op : work.getOps())
    for (unsigned part : needed.lookup(op)) {
      LDBG() << op->getName() << " of part " << part << " again for " << work.getTaskGraph();
      clone(op, part, again);
    }
  for (Operation *op : llvm::reverse(work.getOps()))
    if (needed.contains(op) && isOpTriviallyDead(op)) {
      op->erase();
      ++numMoved;
    }
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

namespace {
/// Decides for one function what is kept, and has the rest done again.
class Recomputer {
public:
  Recomputer(func::FuncOp function, RecomputeMode mode, int64_t endTaskgraph)
      : function(function), body(function.front()), loops(body), sources(body), mode(mode) {
    llvm::SmallDenseSet<Attribute> allowed;
    for (auto taskgraph : function->getParentOfType<ModuleOp>().getOps<TaskGraphOp>())
      if (endTaskgraph < 0 || int64_t(allowed.size()) <= endTaskgraph)
        allowed.insert(taskgraph.getSymNameAttr());
    for (ForwardWork &work : ForwardWork::findAll(body, loops, sources))
      if (allowed.contains(work.getTaskGraph().getAttr()))
        works.push_back(std::move(work));
  }

  void run();

private:
  Checkpoints getNamed(const ForwardWork &work) const;
  void findNeededByGradients();
  DenseSet<Operation *> findLeading(const DenseSet<Value> &kept) const;
  void warnOfNames(bool isAnyTaken);

  func::FuncOp function;
  Block &body;
  Loops loops;
  ValueSources sources;
  RecomputeMode mode;
  SmallVector<ForwardWork, 0> works;
  DenseSet<Operation *> neededByGradients;
};
} // namespace

static bool isGradient(Operation *op) {
  std::optional<WorkKind> kind = getWorkKind(op);
  return kind && *kind != WorkKind::forward && *kind != WorkKind::apply;
}

void Recomputer::findNeededByGradients() {
  for (Operation &op : llvm::reverse(body))
    for (OpOperand &use : op.getUses())
      if (Operation *user = getBlockUser(use); isGradient(user) || neededByGradients.contains(user))
        neededByGradients.insert(&op);
}

/// The named values of a work that gradients are made of. Those made of named ones end a later part.
Checkpoints Recomputer::getNamed(const ForwardWork &work) const {
  Checkpoints named;
  DenseMap<Operation *, unsigned> parts;
  for (Operation *op : work.getOps()) {
    unsigned part = 0;
    for (Value operand : getUsedValues(op))
      part = std::max(part, named.contains(operand) ? named.lookup(operand) + 1
                                                    : parts.lookup(operand.getDefiningOp()));
    parts[op] = part;
    if (op->hasAttr(EplDialect::kCheckpointAttr) && neededByGradients.contains(op))
      for (Value result : op->getResults())
        named[result] = part;
  }
  return named;
}

/// The forward ops that kept values are made of; where these are found, values that go from one task graph to
/// another are such, too.
DenseSet<Operation *> Recomputer::findLeading(const DenseSet<Value> &kept) const {
  DenseSet<Operation *> leading;
  auto getTaskGraph = [](Operation *op) {
    return op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr).getTaskgraph();
  };
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (getWorkKind(&op) != WorkKind::forward)
      continue;
    auto isBefore = [&](OpOperand &use) {
      Operation *user = getBlockUser(use);
      return getWorkKind(user) == WorkKind::forward &&
             (leading.contains(user) ||
              (mode == RecomputeMode::automatic && getTaskGraph(user) != getTaskGraph(&op)));
    };
    if (llvm::any_of(op.getResults(), [&](Value result) { return kept.contains(result); }) ||
        llvm::any_of(op.getUses(), isBefore))
      leading.insert(&op);
  }
  return leading;
}

/// Names that nothing comes of are told.
void Recomputer::warnOfNames(bool isAnyTaken) {
  for (Operation &op : body)
    if (LoopAttr loop = loops.getLoop(&op); loop && op.hasAttr(EplDialect::kCheckpointAttr) &&
                                            !isOfMicroBatches(loop) && getWorkKind(&op) == WorkKind::forward)
      emitWarning(op.getLoc()) << "a value that is named for recomputation (\"checkpoints\") is in a loop of "
                               << loop.getTripCount() << " iterations, of which nothing is computed again";
  if (!isAnyTaken)
    function.emitWarning() << "no gradient needs a value that is named for recomputation (\"checkpoints\"): "
                              "nothing is computed again";
}

void Recomputer::run() {
  if (mode == RecomputeMode::collection)
    findNeededByGradients();
  SmallVector<Checkpoints, 0> chosen;
  chosen.reserve(works.size());
  DenseSet<Value> kept;
  for (const ForwardWork &work : works) {
    chosen.push_back(mode == RecomputeMode::automatic ? chooseCheckpoints(work) : getNamed(work));
    kept.insert_range(llvm::make_first_range(chosen.back()));
    LDBG() << work.getTaskGraph() << " keeps " << chosen.back().size() << " values";
  }
  numKept += kept.size();
  if (mode == RecomputeMode::collection)
    warnOfNames(!kept.empty());
  DenseSet<Operation *> leading = findLeading(kept);
  SmallVector<Recomputation, 0> recomputations;
  for (auto [work, checkpoints] : llvm::zip_equal(works, chosen))
    recomputations.emplace_back(work, checkpoints, leading);
  for (Recomputation &recomputation : recomputations) // which change what others have looked at
    recomputation.run();
}

namespace {
struct Recompute : epl::impl::RecomputePassBase<Recompute> {
  using RecomputePassBase::RecomputePassBase;

  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions) {
      if (mode != RecomputeMode::off)
        Recomputer(function, mode, endTaskgraph).run();
      function.walk([](Operation *op) { op->removeAttr(EplDialect::kCheckpointAttr); });
    }
  }
};
} // namespace
