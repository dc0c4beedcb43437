//===- IterationStatistics.cpp - What is of each micro-batch --------------===//

#include "passes/shard/microbatch/IterationStatistics.h"

#include "dialect/SourceLocation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-form-micro-batches"

using namespace mlir;
using namespace mlir::epl;

namespace mlir::epl {
class StatisticsFinder {
public:
  StatisticsFinder(func::FuncOp function, AxisAttr axis)
      : function(function), body(function.front()), axis(axis) {}

  FailureOr<IterationStatistics> run();

private:
  AxisState getState(Value value) const { return getAxisState(getSharding(value), axis.getName()); }
  bool isWhole(Value value) const {
    return !isa<RankedTensorType>(value.getType()) || getState(value).isReplicated();
  }
  bool completesStatistic(Operation *op) const {
    return isa<ReshardOp>(op) && addends.contains(op->getOperand(0)) && isWhole(op->getResult(0));
  }
  bool hasSamples(Operation *op) const;
  bool isInIteration(Operation *op) const;
  bool isRead(Operation *op) const;
  void findAddends();
  void findMade();
  bool findCarried();
  void writeEstimates();
  LogicalResult writeLeaving(Operation *op);
  bool isAddend(ReshardOp enter) const;
  LogicalResult writeEntering();

  func::FuncOp function;
  Block &body;
  AxisAttr axis;
  DenseSet<Value> addends;           ///< pending statistics, and sums that these are added to
  llvm::SetVector<Operation *> made; ///< without samples, of estimates: done in iterations
  IterationStatistics found;
};
} // namespace mlir::epl

/// The gradients of a step are those of all its samples.
static bool isInScope(Operation *op) {
  return op->hasAttr(EplDialect::kPerMicroBatchAttr) && getWorkKind(op) != WorkKind::apply;
}

/// Calls `visit` with what an op of the function's body reads, what its regions capture included.
static void forEachRead(Operation *op, function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value value : inner->getOperands())
      if (value.getParentBlock() == op->getBlock())
        visit(value);
  });
}

bool StatisticsFinder::hasSamples(Operation *op) const {
  bool has = !llvm::all_of(op->getResults(), [&](Value result) { return isWhole(result); });
  if (!isa<ReshardOp>(op))
    forEachRead(op, [&](Value value) { has |= !isWhole(value); });
  return has;
}

/// Whether a reader takes estimates.
bool StatisticsFinder::isInIteration(Operation *op) const {
  return made.contains(op) ||
         (getWorkKind(op) != WorkKind::apply && !op->hasTrait<OpTrait::IsTerminator>() && hasSamples(op));
}

bool StatisticsFinder::isRead(Operation *op) const {
  return llvm::any_of(op->getUsers(),
                      [&](Operation *user) { return isInIteration(body.findAncestorOpInBlock(*user)); });
}

void StatisticsFinder::findAddends() {
  for (Operation &op : body) {
    bool isOne = isInScope(&op);
    forEachRead(&op, [&](Value value) { isOne |= addends.contains(value); });
    for (Value result : op.getResults())
      if (isOne && !isWhole(result) && getState(result).partial)
        addends.insert(result);
  }
}

/// What depends on estimates without work of kind apply in between is done in iterations in the scope, and
/// where an iteration needs it.
void StatisticsFinder::findMade() {
  DenseSet<Value> reached;
  SmallVector<Operation *> open;
  for (auto [state, next] : found.carried)
    reached.insert(state);
  for (Operation &op : body.without_terminator()) {
    bool reads = false;
    forEachRead(&op, [&](Value value) { reads |= reached.contains(value); });
    bool isMade = reads && getWorkKind(&op) != WorkKind::apply && !hasSamples(&op);
    if (isMade)
      open.push_back(&op);
    if (isMade || completesStatistic(&op))
      reached.insert_range(op.getResults());
  }
  made.clear();
  for (Operation *op : llvm::reverse(open))
    if (isInScope(op) || isRead(op))
      made.insert(op);
}

/// Adds states of which an iteration makes the next value; whether there are new ones.
bool StatisticsFinder::findCarried() {
  size_t before = found.carried.size();
  for (OpOperand &use : body.getTerminator()->getOpOperands()) {
    auto updated =
        function.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), EplDialect::kUpdatesAttr);
    if (updated && made.contains(use.get().getDefiningOp()))
      found.carried.insert({function.getArgument(updated.getInt()), use.get()});
  }
  return found.carried.size() > before;
}

/// Iterations read an estimate of a statistic, all else the statistic.
void StatisticsFinder::writeEstimates() {
  for (auto exit : llvm::make_early_inc_range(body.getOps<ReshardOp>())) {
    if (!completesStatistic(exit) || !isRead(exit))
      continue;
    LDBG() << exit.getType() << " is estimated, of " << describeOp(exit.getOperand().getDefiningOp());
    OpBuilder builder(exit);
    auto estimate = cast<ReshardOp>(builder.clone(*exit));
    estimate->setAttr(EplDialect::kPerMicroBatchAttr, builder.getUnitAttr());
    exit.getResult().replaceUsesWithIf(estimate.getResult(), [&](OpOperand &use) {
      return isInIteration(body.findAncestorOpInBlock(*use.getOwner()));
    });
    found.values.insert(estimate.getResult());
    if (exit.use_empty())
      exit.erase();
  }
}

/// Has what is done once read values of iterations through reshards.
LogicalResult StatisticsFinder::writeLeaving(Operation *op) {
  for (Value result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    found.values.insert(result);
    auto isOnce = [&](OpOperand &use) { return !isInIteration(body.findAncestorOpInBlock(*use.getOwner())); };
    if (llvm::none_of(result.getUses(), isOnce))
      continue;
    bool isCarried = llvm::any_of(found.carried, [&](auto &entry) { return entry.second == result; });
    Type element = cast<RankedTensorType>(result.getType()).getElementType();
    if (!isCarried && !isa<FloatType>(element))
      return op->emitError() << "is a value of each micro-batch, of " << element
                             << ", that is read of the whole step: of what is made of statistics in "
                                "`epl.per_micro_batch()` the mean is taken, expected floating-point numbers";
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto exit = ReshardOp::create(builder, op->getLoc(), result.getType(), result, getSharding(result));
    exit->setAttr(EplDialect::kWorkAttr, op->getAttr(EplDialect::kWorkAttr));
    result.replaceUsesWithIf(exit.getResult(),
                             [&](OpOperand &use) { return use.getOwner() != exit && isOnce(use); });
  }
  return success();
}

/// Whether what enters the iterations is added to a pending statistic.
bool StatisticsFinder::isAddend(ReshardOp enter) const {
  return llvm::any_of(enter->getUsers(), [&](Operation *user) {
    return llvm::any_of(body.findAncestorOpInBlock(*user)->getResults(),
                        [&](Value result) { return addends.contains(result); });
  });
}

/// What is added to a pending statistic, or differs from one iteration to the next, is added by each
/// iteration in part instead of by the first one.
LogicalResult StatisticsFinder::writeEntering() {
  for (auto enter : body.getOps<ReshardOp>()) {
    if (!isWhole(enter.getOperand()) || isWhole(enter.getResult()))
      continue;
    bool isOfIteration = found.values.contains(enter.getOperand());
    bool isFloat = isa<FloatType>(enter.getType().getElementType());
    bool isShared = getState(enter.getResult()).partial && isFloat;
    if (isOfIteration && !isShared)
      return enter->emitError()
             << "reads of each sample, or as a whole number, what each micro-batch makes of "
                "statistics in `epl.per_micro_batch()`; expected what is the same for all "
                "samples";
    if (isShared && (isOfIteration || isAddend(enter)))
      enter->setAttr(EplDialect::kPerMicroBatchAttr, UnitAttr::get(enter.getContext()));
  }
  return success();
}

FailureOr<IterationStatistics> StatisticsFinder::run() {
  findAddends();
  if (addends.empty())
    return found;
  do
    findMade();
  while (findCarried());
  writeEstimates();
  for (Operation *op : made)
    if (failed(writeLeaving(op)))
      return failure();
  if (failed(writeEntering()))
    return failure();
  return found;
}

FailureOr<IterationStatistics> IterationStatistics::create(func::FuncOp function, AxisAttr axis) {
  return StatisticsFinder(function, axis).run();
}
