//===- IterationStatistics.cpp - What is of each micro-batch --------------===//

#include "passes/shard/microbatch/IterationStatistics.h"

#include "dialect/Loops.h"
#include "dialect/SourceLocation.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-form-micro-batches"

using namespace mlir;
using namespace mlir::epl;

namespace mlir::epl {
class StatisticsFinder {
public:
  StatisticsFinder(func::FuncOp function, AxisAttr axis)
      : function(function), body(function.front()), axis(axis), loops(body) {}

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
  bool beginsGradients(Value sum) const;
  bool isRead(Operation *op) const;
  bool readsReached(Operation *op) const;
  bool arrangesMade(Operation *op) const;
  bool passesSums(Operation *op) const;
  void findAddends();
  llvm::SetVector<Operation *> findReached();
  void findMade();
  void addNeeded(const llvm::SetVector<Operation *> &open);
  void addLoops();
  const char *findObstacle(Operation *op) const;
  bool findCarried();
  void writeEstimates();
  LogicalResult writeLeaving(Operation *op);
  bool isAddend(ReshardOp enter) const;
  LogicalResult refuse(ReshardOp enter) const;
  LogicalResult writeEntering();

  func::FuncOp function;
  Block &body;
  AxisAttr axis;
  Loops loops;
  DenseSet<Value> addends;               ///< pending statistics, and sums that these are added to
  DenseSet<Value> reached;               ///< statistics, and what depends on them
  llvm::SetVector<Operation *> made;     ///< without samples, of estimates: done in iterations
  llvm::SetVector<Operation *> arranged; ///< of these, what was found to arrange others
  DenseSet<LoopAttr> nested;             ///< loops of the step with an op that is done in iterations
  DenseSet<Value> sums;                  ///< statistics of a loop as it leaves them
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
  return made.contains(op) || nested.contains(loops.getLoop(op)) ||
         (getWorkKind(op) != WorkKind::apply && !op->hasTrait<OpTrait::IsTerminator>() && hasSamples(op));
}

/// What a loop carries is read in its next iteration, too.
bool StatisticsFinder::isRead(Operation *op) const {
  auto isReader = [&](Operation *user) { return isInIteration(body.findAncestorOpInBlock(*user)); };
  auto last = dyn_cast<LoopLastOp>(op);
  LoopCarryOp carry = last ? loops.getCarry(last) : LoopCarryOp();
  return llvm::any_of(op->getUsers(), isReader) || (carry && llvm::any_of(carry->getUsers(), isReader));
}

bool StatisticsFinder::readsReached(Operation *op) const {
  bool reads = false;
  forEachRead(op, [&](Value value) { reads |= reached.contains(value); });
  if (auto carry = dyn_cast<LoopCarryOp>(op))
    if (LoopLastOp last = loops.getLast(carry))
      reads |= reached.contains(last.getResult());
  return reads;
}

/// Whether the elements of a result are those of operands, or of what iterations of a loop make.
static bool isArrangement(Operation *op) {
  if (leavesLoop(op))
    return true;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    auto yielded = dyn_cast<BlockArgument>(generic.getBody()->getTerminator()->getOperand(0));
    return generic.getNumResults() == 1 && yielded && yielded.getArgNumber() < generic.getNumDpsInputs();
  }
  return isa<ConcatenateOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractSliceOp,
             tensor::InsertSliceOp>(op);
}

/// Whether an op only arranges what iterations make: the mean of that is the same, and a state is carried.
bool StatisticsFinder::arrangesMade(Operation *op) const {
  bool isMade = isArrangement(op);
  forEachRead(op, [&](Value value) {
    isMade &= !reached.contains(value) || (value.getDefiningOp() && made.contains(value.getDefiningOp()));
  });
  return isMade;
}

/// Whether an op takes statistics as they are out of a loop, of which the mean of estimates is the sum.
bool StatisticsFinder::passesSums(Operation *op) const {
  bool passes = leavesLoop(op) && getWorkKind(op) != WorkKind::apply &&
                isa<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  forEachRead(op, [&](Value value) {
    Operation *maker = value.getDefiningOp();
    passes &=
        maker && completesStatistic(maker) && getState(maker->getOperand(0)).partial == ReductionKind::sum;
  });
  return passes;
}

/// The sum over samples that a loop begins to carry, where that is complete; null if there is none.
static Value getFirstSum(LoopCarryOp carry) {
  auto reshard = carry.getInit().getDefiningOp<ReshardOp>();
  return reshard ? reshard.getOperand() : Value();
}

/// Whether a pending sum is what loops of gradients in the scope begin to carry. They carry it complete,
/// though they are linear in it: unrolled, the first iteration would take it pending, as it is here.
bool StatisticsFinder::beginsGradients(Value sum) const {
  auto isOne = [](Operation *user) {
    auto carry = dyn_cast<LoopCarryOp>(user);
    return carry && getWorkKind(carry) == WorkKind::backward &&
           (isInScope(carry) || llvm::any_of(carry->getUsers(), isInScope));
  };
  return llvm::any_of(sum.getUsers(), [&](Operation *user) {
    return isa<ReshardOp>(user) && isWhole(user->getResult(0)) && !user->use_empty() &&
           llvm::all_of(user->getUsers(), isOne);
  });
}

void StatisticsFinder::findAddends() {
  for (Operation &op : body) {
    bool isOne = isInScope(&op);
    forEachRead(&op, [&](Value value) { isOne |= addends.contains(value); });
    for (Value result : op.getResults())
      if (!isWhole(result) && getState(result).partial && (isOne || beginsGradients(result)))
        addends.insert(result);
  }
}

/// What depends on statistics or on carried states, without work of kind apply in between; the ops of it that
/// have no samples.
llvm::SetVector<Operation *> StatisticsFinder::findReached() {
  llvm::SetVector<Operation *> open;
  for (auto [state, next] : found.carried)
    reached.insert(state);
  for (size_t before = ~size_t(0); std::exchange(before, reached.size()) != reached.size();)
    for (Operation &op : body.without_terminator()) {
      bool isOpen = readsReached(&op) && getWorkKind(&op) != WorkKind::apply && !hasSamples(&op);
      if (isOpen)
        open.insert(&op);
      if (isOpen || completesStatistic(&op))
        reached.insert_range(op.getResults());
    }
  return open;
}

/// What depends on estimates is done in iterations in the scope, and where an iteration needs it, at last in
/// the next iteration of a loop. An end of a loop has no say of its own: unrolled it would be no op.
void StatisticsFinder::findMade() {
  llvm::SetVector<Operation *> open = findReached();
  made.clear();
  nested.clear();
  sums.clear();
  made.insert_range(arranged);
  addNeeded(open);
  for (Operation &op : body)
    if (open.contains(&op) && !made.contains(&op) && arrangesMade(&op)) {
      made.insert(&op);
      arranged.insert(&op);
    }
  addNeeded(open);
  addLoops();
}

/// Adds what stands in the scope, or an iteration needs, of what depends on estimates.
void StatisticsFinder::addNeeded(const llvm::SetVector<Operation *> &open) {
  for (size_t before = ~size_t(0); std::exchange(before, made.size()) != made.size();)
    for (Operation *op : llvm::reverse(open))
      if ((isInScope(op) && !getEdgeLoop(op)) || isRead(op))
        made.insert(op);
}

/// A loop with an op that is done in iterations is done there as a whole.
void StatisticsFinder::addLoops() {
  for (Operation &op : body.without_terminator())
    if (LoopAttr loop = loops.getLoop(&op); loop && (made.contains(&op) || hasSamples(&op)))
      nested.insert(loop);
  for (Operation &op : body.without_terminator())
    if (nested.contains(loops.getLoop(&op)) && !made.contains(&op) && passesSums(&op)) {
      made.insert(&op);
      sums.insert(op.getResult(0));
    }
  found.others.clear();
  for (Operation &op : body.without_terminator())
    if (const char *obstacle = findObstacle(&op))
      found.others.insert({loops.getLoop(&op),
                           {std::string("is part of a step in micro-batches and ") + obstacle, op.getLoc()}});
}

/// Why the loop of an op cannot be done in iterations as a whole; null if it can. Unrolled, the step would do
/// the op once, on means over all iterations; or would take pending what the loop begins with complete.
const char *StatisticsFinder::findObstacle(Operation *op) const {
  if (!nested.contains(loops.getLoop(op)))
    return nullptr;
  auto carry = dyn_cast<LoopCarryOp>(op);
  if (Value sum = carry ? getFirstSum(carry) : Value(); sum && !isWhole(sum) && !addends.contains(sum))
    return "begins with a sum over all samples";
  if (made.contains(op) || !readsReached(op))
    return nullptr;
  if (getWorkKind(op) == WorkKind::apply)
    return "updates parameters by the gradients of all";
  return hasSamples(op) ? nullptr
                        : "makes, in no `epl.per_micro_batch()`, one value of the statistics of all";
}

/// Adds states of which an iteration makes the next value; whether there are new ones.
bool StatisticsFinder::findCarried() {
  size_t before = found.carried.size();
  for (OpOperand &use : body.getTerminator()->getOpOperands()) {
    auto updated =
        function.getResultAttrOfType<IntegerAttr>(use.getOperandNumber(), EplDialect::kUpdatesAttr);
    if (updated && made.contains(use.get().getDefiningOp()) && !sums.contains(use.get()))
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
    copyWork(op, exit);
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

/// Says what an iteration cannot read of what each makes of statistics.
LogicalResult StatisticsFinder::refuse(ReshardOp enter) const {
  if (getState(enter.getResult()).partial)
    return enter->emitError() << "adds to whole numbers what each micro-batch makes of statistics in "
                                 "`epl.per_micro_batch()`, of which the mean is taken; expected "
                                 "floating-point numbers";
  return enter->emitError()
         << "mixes samples across micro-batches: it reads of each sample what each micro-batch makes of "
            "statistics; expected what is the same for all samples, or one micro-batch "
            "(\"pipeline.num_micro_batch\")"
         << kComparesSamples;
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
      return refuse(enter);
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
  if (!found.others.empty())
    return found;
  writeEstimates();
  for (Operation *op : made)
    if (failed(writeLeaving(op)))
      return failure();
  if (failed(writeEntering()))
    return failure();
  found.made.insert_range(made);
  return found;
}

FailureOr<IterationStatistics> IterationStatistics::create(func::FuncOp function, AxisAttr axis) {
  return StatisticsFinder(function, axis).run();
}
