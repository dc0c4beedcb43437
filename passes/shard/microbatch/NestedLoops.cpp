//===- NestedLoops.cpp - Loops that each micro-batch does -----------------===//

#include "passes/shard/microbatch/NestedLoops.h"

#include "passes/shard/analysis/Rules.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-form-micro-batches"

using namespace mlir;
using namespace mlir::epl;

NestedLoops::NestedLoops(func::FuncOp function, AxisAttr axis, const IterationStatistics &statistics)
    : body(function.front()), axis(axis), statistics(statistics), loops(body) {
  findNested();
  findMade();
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (isWhole(result) && !statistics.contains(op))
        values.insert(result);
}

bool NestedLoops::hasSamples(Operation *op) const {
  auto isPart = [&](Value value) { return !isWhole(value); };
  return llvm::any_of(op->getResults(), isPart) ||
         (!isa<ReshardOp>(op) && llvm::any_of(getUsedValues(op), isPart));
}

bool NestedLoops::isInIteration(Operation *op) const {
  return ops.contains(op) || statistics.contains(op) ||
         (!op->hasTrait<OpTrait::IsTerminator>() && hasSamples(op));
}

void NestedLoops::findNested() {
  for (Operation &op : body)
    if (LoopAttr loop = loops.getLoop(&op); loop && (hasSamples(&op) || statistics.contains(&op)))
      nested.insert(loop);
  for (Operation &op : body)
    if (nested.contains(loops.getLoop(&op)))
      ops.insert(&op);
}

/// Adds what is made of whole values of these loops, without samples, on the way to what is done in
/// iterations.
void NestedLoops::findMade() {
  DenseSet<Value> reached;
  SmallVector<Operation *> open;
  for (Operation &op : body.without_terminator()) {
    bool isMade = llvm::any_of(getUsedValues(&op), [&](Value value) { return reached.contains(value); }) &&
                  !ops.contains(&op) && getWorkKind(&op) != WorkKind::apply && !hasSamples(&op);
    if (isMade)
      open.push_back(&op);
    if (isMade || ops.contains(&op))
      for (Value result : op.getResults())
        if (isWhole(result))
          reached.insert(result);
  }
  for (Operation *op : llvm::reverse(open))
    if (llvm::any_of(op->getUsers(),
                     [&](Operation *user) { return isInIteration(body.findAncestorOpInBlock(*user)); }))
      ops.insert(op);
}

/// Why what is whole and what has samples cannot change into each other here; null if they can.
const char *NestedLoops::findObstacle(ReshardOp op) const {
  Value from = op.getOperand(), to = op.getResult();
  bool isEstimate = statistics.contains(to);
  if (nested.contains(loops.getLoop(op.getOperation())) && !isWhole(from) && isWhole(to) && !isEstimate)
    return "completes a sum over all samples in each, or joins them";
  if (values.contains(from) && !isWhole(to) && !getState(to).partial)
    return "makes for all samples what each micro-batch takes a part of";
  return nullptr;
}

/// The loops that a whole value of iterations is made of.
llvm::SetVector<LoopAttr> NestedLoops::getSources(Value value) const {
  llvm::SetVector<LoopAttr> found;
  llvm::SetVector<Operation *> makers;
  makers.insert(value.getDefiningOp());
  for (size_t next = 0; next < makers.size(); ++next) {
    if (LoopAttr loop = loops.getLoop(makers[next]); nested.contains(loop))
      found.insert(loop);
    else
      for (Value read : getUsedValues(makers[next]))
        if (Operation *maker = read.getDefiningOp(); maker && ops.contains(maker))
          makers.insert(maker);
  }
  return found;
}

llvm::MapVector<LoopAttr, UnrollReason> NestedLoops::findOthers() const {
  llvm::MapVector<LoopAttr, UnrollReason> others;
  for (auto op : body.getOps<ReshardOp>())
    if (const char *obstacle = findObstacle(op))
      for (LoopAttr loop : getSources(op.getOperand()))
        others.insert(
            {loop, {std::string("is part of a step in micro-batches and ") + obstacle, op.getLoc()}});
  return others;
}

/// Users before makers, since what is made again reads what its maker does.
void NestedLoops::writeExits() {
  SmallVector<Operation *> makers(ops.begin(), ops.end());
  llvm::sort(makers, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : makers)
    for (OpResult result : op->getResults())
      if (values.contains(result))
        writeExit(result);
}

/// A number is made again of tensors.
void NestedLoops::writeExit(OpResult result) {
  Operation *op = result.getOwner();
  auto isOnce = [&](OpOperand &use) { return !isInIteration(body.findAncestorOpInBlock(*use.getOwner())); };
  if (llvm::none_of(result.getUses(), isOnce))
    return;
  LDBG() << result.getType() << " of a loop in micro-batches is read once";
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *made =
      isa<RankedTensorType>(result.getType())
          ? ReshardOp::create(builder, op->getLoc(), result.getType(), result, getSharding(result))
                .getOperation()
          : builder.clone(*op);
  copyWork(op, made);
  unsigned number = isa<ReshardOp>(made) ? 0 : result.getResultNumber();
  result.replaceUsesWithIf(made->getResult(number),
                           [&](OpOperand &use) { return use.getOwner() != made && isOnce(use); });
}
