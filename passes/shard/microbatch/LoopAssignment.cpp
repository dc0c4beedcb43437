//===- LoopAssignment.cpp - Which ops of a step are done in micro-batches -===//

#include "passes/shard/microbatch/LoopAssignment.h"

#include "dialect/SourceLocation.h"
#include "passes/shard/analysis/StepCost.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-form-micro-batches"

using namespace mlir;
using namespace mlir::epl;

/// Loops of a pass before its last repeat ops of it: at most one in so many multiply-adds of an iteration.
static constexpr int64_t kLeastRatio = 16;

FailureOr<LoopAssignment> LoopAssignment::create(const FunctionRules &rules, AxisAttr axis,
                                                 const IterationStatistics &statistics,
                                                 const NestedLoops &nested) {
  LoopAssignment assignment(rules, axis, statistics, nested);
  assignment.classify();
  assignment.delay();
  if (failed(assignment.verifyCarried()))
    return failure();
  for (BatchPass &pass : assignment.assign()) {
    if (failed(assignment.verifyCost(pass)))
      return failure();
    llvm::append_range(assignment.loops, pass.before);
    assignment.loops.push_back(pass.last);
  }
  return assignment;
}

bool LoopAssignment::isOfIteration(Value value) const {
  return nested.contains(value) || (isa<RankedTensorType>(value.getType()) &&
                                    (!getState(value).isReplicated() || statistics.contains(value)));
}

/// A batch is whole before the loop: nothing is left for it to be whole.
bool LoopAssignment::isExit(Operation *op) const {
  auto reshard = dyn_cast<ReshardOp>(op);
  return reshard && isOfIteration(reshard.getOperand()) && !isa<BlockArgument>(reshard.getOperand()) &&
         !isOfIteration(reshard.getResult());
}

/// The tensors that an op reads, those that its regions capture among them.
void LoopAssignment::forEachOperand(Operation *op, function_ref<void(Value)> visit) const {
  llvm::for_each(op->getOperands(), visit);
  for (OpOperand *captured : rules.getCapturedTensors(op))
    visit(captured->get());
}

/// All ops of a loop that the step has are done at one time, that of the last of them.
void LoopAssignment::classify() {
  DenseMap<LoopAttr, Time> last;
  for (bool changed = true; std::exchange(changed, false);)
    for (Operation *op : rules.getOps()) {
      LoopAttr inner = rules.getLoops().getLoop(op);
      Time time = classify(op, inner ? last.lookup(inner) : Time());
      times[op] = time;
      if (inner && last.lookup(inner) < time) {
        last[inner] = time;
        changed = true;
      }
    }
}

/// When an op is done that is not done before `time`. What is applied of a value that is whole after a loop
/// is there after all loops of the pass.
LoopAssignment::Time LoopAssignment::classify(Operation *op, Time time) {
  bool reads = false;
  forEachOperand(op, [&](Value value) {
    time = std::max(time, getTime(value));
    reads |= isOfIteration(value);
  });
  if (isExit(op))
    ++time.loop;
  else if (llvm::any_of(op->getResults(), [&](Value result) { return isOfIteration(result); }) ||
           (reads && !isa<ReshardOp>(op)))
    inIterations.insert(op);
  else if (getWorkKind(op) == WorkKind::apply && time.loop > 0)
    time = {time.pass + 1, 0};
  return time;
}

/// Does in a later pass what only that one reads, instead of keeping it, but for what is part of a loop.
void LoopAssignment::delay() {
  for (Operation *op : llvm::reverse(rules.getOps())) {
    if (!inIterations.contains(op) || op->use_empty() || rules.getLoops().getLoop(op))
      continue;
    unsigned earliest = ~0u;
    for (Operation *user : op->getUsers()) {
      Operation *reader = op->getBlock()->findAncestorOpInBlock(*user);
      earliest = std::min(earliest, inIterations.contains(reader) ? times[reader].pass : times[op].pass);
    }
    if (earliest > times[op].pass)
      times[op] = {earliest, 0};
  }
}

/// A state goes from one iteration of a loop to the next.
LogicalResult LoopAssignment::verifyCarried() const {
  for (auto [state, next] : statistics.getCarried())
    for (Operation *user : state.getUsers()) {
      Operation *reader = state.getParentBlock()->findAncestorOpInBlock(*user);
      if (!inIterations.contains(reader) || times.lookup(reader).pass == getTime(next).pass)
        continue;
      InFlightDiagnostic error = next.getDefiningOp()->emitError()
                                 << "updates a state by statistics in `epl.per_micro_batch()`, of which each "
                                    "micro-batch has one, once more after parameters are updated; expected "
                                    "one update in a step";
      error.attachNote(reader->getLoc()) << "it is read before that here";
      return error;
    }
  return success();
}

/// Finds what an iteration reads of whole values that are made of what leaves a loop of the same pass. A loop
/// that the step has is left when all of it is done.
void LoopAssignment::findNeeded(Operation *reader) {
  SmallVector<Value> open;
  DenseSet<Value> seen;
  DenseSet<LoopAttr> wholes;
  auto follow = [&](Value value) {
    Time time = getTime(value);
    if (time.pass == times.lookup(reader).pass && time.loop > 0 && !isOfIteration(value) &&
        seen.insert(value).second)
      open.push_back(value);
  };
  forEachOperand(reader, follow);
  while (!open.empty()) {
    Operation *maker = open.pop_back_val().getDefiningOp();
    if (isExit(maker)) {
      readers.try_emplace(maker, reader);
      continue;
    }
    forEachOperand(maker, follow);
    if (LoopAttr inner = rules.getLoops().getLoop(maker); inner && wholes.insert(inner).second)
      for (Operation *op : rules.getOps())
        if (rules.getLoops().getLoop(op) == inner)
          forEachOperand(op, follow);
  }
}

void LoopAssignment::findNeeded() {
  for (Operation *op : rules.getOps())
    if (inIterations.contains(op))
      findNeeded(op);
}

/// Iteration ops that an exit is made of, which a loop before the last of a pass repeats, and those that make
/// the states which these read.
void LoopAssignment::addEarly(BatchPass &pass, ReshardOp exit, Operation *reader) {
  Time time = getTime(exit.getOperand());
  LDBG() << exit.getType() << " of loop " << time.loop << " is read by " << reader->getName()
         << " in iterations";
  if (pass.before.size() <= time.loop)
    pass.before.resize(time.loop + 1);
  Loop &loop = pass.before[time.loop];
  loop.exits.push_back(exit);
  llvm::SetVector<Operation *> slice(loop.ops.begin(), loop.ops.end());
  addMakers(exit.getOperand(), time.pass, slice);
  loop.ops = slice.takeVector();
  llvm::sort(loop.ops,
             [&](Operation *a, Operation *b) { return rules.getPosition(a) < rules.getPosition(b); });
}

/// Adds what a value is made of in the iterations of a pass: of a loop in these the whole.
void LoopAssignment::addMakers(Value value, unsigned pass, llvm::SetVector<Operation *> &slice) const {
  SmallVector<Operation *> open;
  DenseSet<LoopAttr> wholes;
  auto add = [&](Operation *maker) {
    if (maker && inIterations.contains(maker) && times.lookup(maker).pass == pass && slice.insert(maker))
      open.push_back(maker);
  };
  add(value.getDefiningOp());
  while (!open.empty()) {
    Operation *maker = open.pop_back_val();
    forEachOperand(maker, [&](Value read) {
      Value next = statistics.getCarried().lookup(read);
      add((next ? next : read).getDefiningOp());
    });
    if (LoopAttr inner = rules.getLoops().getLoop(maker); inner && wholes.insert(inner).second)
      for (Operation *op : rules.getOps())
        if (rules.getLoops().getLoop(op) == inner)
          add(op);
  }
}

/// Batches are there as a whole.
void LoopAssignment::keep(MutableArrayRef<BatchPass> passes, Value value) const {
  if (isOfIteration(value) && !isa<BlockArgument>(value))
    passes[getTime(value).pass].last.kept.insert(value);
}

std::vector<LoopAssignment::BatchPass> LoopAssignment::assign() {
  findNeeded();
  unsigned last = 0;
  for (Operation *op : inIterations)
    last = std::max(last, times.lookup(op).pass);
  std::vector<BatchPass> passes(last + 1);
  for (Operation *op : rules.getOps()) {
    unsigned number = times.lookup(op).pass;
    if (auto needed = readers.find(op); needed != readers.end())
      addEarly(passes[number], cast<ReshardOp>(op), needed->second);
    else if (isExit(op))
      passes[number].last.exits.push_back(cast<ReshardOp>(op));
    if (!inIterations.contains(op))
      continue;
    passes[number].last.ops.push_back(op);
    forEachOperand(op, [&](Value value) {
      if (getTime(value).pass < number)
        keep(passes, value);
    });
  }
  for (Value result : rules.getFunction().front().getTerminator()->getOperands())
    keep(passes, result);
  return passes;
}

/// Of the ops of loops that a value is made by, the one of the highest cost.
static Operation *findMostExpensive(Value value, const DenseSet<Operation *> &ops,
                                    function_ref<int64_t(Operation *)> getCost) {
  llvm::SetVector<Operation *> makers;
  makers.insert(value.getDefiningOp());
  Operation *most = makers.front();
  for (size_t next = 0; next < makers.size(); ++next) {
    most = getCost(makers[next]) > getCost(most) ? makers[next] : most;
    for (Value read : getUsedValues(makers[next]))
      if (ops.contains(read.getDefiningOp()))
        makers.insert(read.getDefiningOp());
  }
  return most;
}

/// Whether samples are compared with one another by what an exit is for: it joins them, or is a sum for each
/// of them. No scope makes that a statistic of a micro-batch.
bool LoopAssignment::comparesSamples(ReshardOp exit) const {
  auto enter = dyn_cast<ReshardOp>(readers.lookup(exit));
  return getState(exit.getOperand()).isSharded() || (enter && getState(enter.getResult()).isSharded());
}

/// Says that an iteration reads what loops before would do too much for.
static LogicalResult refuse(Operation *reader, Operation *product, bool comparesSamples) {
  InFlightDiagnostic error =
      reader->emitError()
      << "mixes samples across micro-batches: it reads a value of the whole batch, which takes "
      << describeOp(product) << " of every sample; expected "
      << (comparesSamples ? ""
                          : "statistics of each micro-batch (made in `with epl.per_micro_batch():`), or ")
      << "one micro-batch (\"pipeline.num_micro_batch\")"
      << (comparesSamples ? StringRef(kComparesSamples) : "");
  error.attachNote(product->getLoc()) << "the value takes this product of every sample";
  return error;
}

LogicalResult LoopAssignment::verifyCost(const BatchPass &pass) const {
  StepCosts costs(rules);
  auto getCost = [&](Operation *op) { return costs.isContraction(op) ? costs.getMultiplyAdds(op) : 0; };
  double before = 0, iteration = 0;
  DenseSet<Operation *> ops;
  for (const Loop &loop : pass.before)
    for (Operation *op : loop.ops) {
      before += double(getCost(op));
      ops.insert(op);
    }
  for (Operation *op : pass.last.ops)
    iteration += double(getCost(op));
  if (before * kLeastRatio <= iteration)
    return success();
  // Of several exits that which has no remedy but one, if it is too much by itself; else the most expensive.
  std::pair<bool, int64_t> worst = {false, -1};
  Operation *product = nullptr, *reader = nullptr;
  for (const Loop &loop : pass.before)
    for (ReshardOp exit : loop.exits) {
      Operation *most = findMostExpensive(exit.getOperand(), ops, getCost);
      bool isTooMuch = double(getCost(most)) * kLeastRatio > iteration;
      std::pair<bool, int64_t> cost = {isTooMuch && comparesSamples(exit), getCost(most)};
      if (worst < cost) {
        worst = cost;
        product = most;
        reader = readers.lookup(exit);
      }
    }
  return refuse(reader, product, worst.first);
}
