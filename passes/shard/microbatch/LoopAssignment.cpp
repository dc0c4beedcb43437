//===- LoopAssignment.cpp - Which ops of a step are done in micro-batches -===//

#include "passes/shard/microbatch/LoopAssignment.h"

#include "dialect/SourceLocation.h"
#include "passes/shard/analysis/StepCost.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-form-micro-batches"

using namespace mlir;
using namespace mlir::epl;

/// Loops before the last repeat ops of it: at most one in so many multiply-adds of an iteration.
static constexpr int64_t kLeastRatio = 16;

FailureOr<LoopAssignment> LoopAssignment::create(const FunctionRules &rules, AxisAttr axis,
                                                 const IterationStatistics &statistics) {
  LoopAssignment assignment(rules, axis, statistics);
  assignment.classify();
  assignment.assign();
  if (failed(assignment.verifyCost()))
    return failure();
  return assignment;
}

bool LoopAssignment::isOfIteration(Value value) const {
  return isa<RankedTensorType>(value.getType()) &&
         (!getState(value).isReplicated() || statistics.contains(value));
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

void LoopAssignment::classify() {
  for (Operation *op : rules.getOps()) {
    unsigned level = 0;
    bool reads = false;
    forEachOperand(op, [&](Value value) {
      level = std::max(level, levels.lookup(value));
      reads |= isOfIteration(value);
    });
    if (isExit(op))
      ++level;
    else if (llvm::any_of(op->getResults(), [&](Value result) { return isOfIteration(result); }) ||
             (reads && !isa<ReshardOp>(op)))
      inIterations.insert(op);
    for (Value result : op->getResults())
      levels[result] = level;
  }
}

/// Finds what iterations read of whole values that are made of what leaves a loop.
void LoopAssignment::findNeeded() {
  for (Operation *op : rules.getOps()) {
    if (!inIterations.contains(op))
      continue;
    SmallVector<Value> open;
    DenseSet<Value> seen;
    auto follow = [&](Value value) {
      if (levels.lookup(value) > 0 && !isOfIteration(value) && seen.insert(value).second)
        open.push_back(value);
    };
    forEachOperand(op, follow);
    while (!open.empty()) {
      Operation *maker = open.pop_back_val().getDefiningOp();
      if (isExit(maker))
        readers.try_emplace(maker, op);
      else
        forEachOperand(maker, follow);
    }
  }
}

/// Iteration ops that an exit is made of, which a loop before the last repeats, and those that make the
/// states which these read.
void LoopAssignment::addEarly(ReshardOp exit, Operation *reader) {
  unsigned level = levels.lookup(exit.getOperand());
  LDBG() << exit.getType() << " of loop " << level << " is read by " << reader->getName() << " in iterations";
  if (loops.size() <= level)
    loops.resize(level + 1);
  Loop &loop = loops[level];
  loop.exits.push_back(exit);
  llvm::SetVector<Operation *> slice(loop.ops.begin(), loop.ops.end());
  SmallVector<Value> open = {exit.getOperand()};
  while (!open.empty()) {
    Operation *maker = open.pop_back_val().getDefiningOp();
    if (maker && inIterations.contains(maker) && slice.insert(maker))
      forEachOperand(maker, [&](Value value) {
        Value next = statistics.getCarried().lookup(value);
        open.push_back(next ? next : value);
      });
  }
  loop.ops = slice.takeVector();
  llvm::sort(loop.ops,
             [&](Operation *a, Operation *b) { return rules.getPosition(a) < rules.getPosition(b); });
}

void LoopAssignment::assign() {
  findNeeded();
  Loop last;
  for (Operation *op : rules.getOps()) {
    if (auto needed = readers.find(op); needed != readers.end())
      addEarly(cast<ReshardOp>(op), needed->second);
    else if (isExit(op))
      last.exits.push_back(cast<ReshardOp>(op));
    if (inIterations.contains(op))
      last.ops.push_back(op);
  }
  loops.push_back(last);
}

LogicalResult LoopAssignment::verifyCost() const {
  StepCosts costs(rules);
  auto getCost = [&](Operation *op) { return costs.isContraction(op) ? costs.getMultiplyAdds(op) : 0; };
  double before = 0, iteration = 0;
  Operation *most = nullptr;
  for (const Loop &loop : ArrayRef(loops).drop_back())
    for (Operation *op : loop.ops) {
      before += double(getCost(op));
      if (!most || getCost(op) > getCost(most))
        most = op;
    }
  for (Operation *op : loops.back().ops)
    iteration += double(getCost(op));
  if (before * kLeastRatio <= iteration)
    return success();
  Operation *reader = llvm::min_element(readers, [&](auto &a, auto &b) {
                        return rules.getPosition(a.second) < rules.getPosition(b.second);
                      })->second;
  InFlightDiagnostic error =
      reader->emitError() << "mixes samples across micro-batches: it reads a value of the whole batch, which "
                             "takes "
                          << describeOp(most)
                          << " of every sample; expected statistics of each micro-batch "
                             "(`with epl.per_micro_batch():`), or one micro-batch "
                             "(\"pipeline.num_micro_batch\")";
  error.attachNote(most->getLoc()) << "the value takes this product of every sample";
  return failure();
}
