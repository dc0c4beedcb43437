//===- SequenceRegion.cpp - What all members of an axis compute -----------===//

#include "passes/shard/seed/SequenceRegion.h"

#include "dialect/Bytes.h"
#include "passes/shard/analysis/Enlarging.h"

using namespace mlir;
using namespace mlir::epl;

static WorkKind getKind(Operation *op) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  return work ? work.getKind() : WorkKind::forward;
}

static bool isTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0;
}

/// Of the seeds, which are on arguments and on ops that say what they make.
static Propagation propagateSeeds(const FunctionRules &rules, AxisAttr axis) {
  Propagation seeded(rules, axis, {});
  seeded.update();
  return seeded;
}

static Propagation settle(const Propagation &seeded, AssumedConstraints constraints) {
  Propagation program = seeded;
  program.assume(std::move(constraints));
  program.run();
  return program;
}

/// One for each sum, and for each value and what is needed of it outside.
static AssumedConstraints getConstraints(const SequenceRegion &region) {
  AssumedConstraints constraints;
  for (Value sum : region.sums)
    constraints.addForAll(sum, AxisState::sharded(region.dims.lookup(sum)));
  for (const RegionExit &exit : region.exits)
    constraints.addForUse(*exit.use, AxisState::sharded(exit.needed.dim));
  return constraints;
}

SequenceStep::SequenceStep(const FunctionRules &rules, AxisAttr axis)
    : rules(rules), axis(axis), seeded(propagateSeeds(rules, axis)), program(settle(seeded, {})),
      placement(rules, axis, program), steps(program.getNumSteps()),
      madeBytes(countMadeBytes(rules.getOps())) {}

SequenceStep::SequenceStep(const SequenceStep &step, const SequenceRegion &region)
    : rules(step.rules), axis(step.axis), seeded(step.seeded),
      program(settle(seeded, getConstraints(region))), placement(step.placement, program),
      steps(program.getNumSteps() - seeded.getNumSteps()),
      madeBytes(step.madeBytes + countMadeBytes(getOps()) - step.countMadeBytes(getOps())) {
  for (const AssumedConstraints::Constraint &constraint : getAssumed().get())
    madeBytes += getMade(constraint.value, constraint.state);
}

bool SequenceStep::isWhole(Value value) const {
  return placement.isCompleted(value) || getState(value).isReplicated();
}

bool SequenceStep::isReplicated(Operation *op) const {
  if (op->getNumResults() == 0 || getKind(op) == WorkKind::apply || isUniform(op) ||
      program.getChoice(op) != FactorRule::kBlocked || FunctionRules::getSaidFactor(op, axis) ||
      rules.getUse(op, axis) == AxisUse::batch)
    return false;
  return llvm::all_of(op->getResults(), [&](Value result) { return !isTensor(result) || isWhole(result); }) &&
         llvm::none_of(op->getOpOperands(), [&](OpOperand &use) {
           return isTensor(use.get()) && placement.getNeededState(use).isSharded();
         });
}

bool SequenceStep::isLeftPending(Value value) const {
  return isTensor(value) && getState(value).partial && !placement.isCompleted(value);
}

SmallVector<Value> SequenceStep::getSums() const {
  SmallVector<Value> sums;
  for (Operation &op : getBody().without_terminator())
    for (Value result : op.getResults())
      if (isTensor(result) && placement.isCompleted(result) &&
          getState(result).partial == ReductionKind::sum &&
          llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return user->getBlock() == &getBody() && isReplicated(user); }))
        sums.push_back(result);
  return sums;
}

int64_t SequenceStep::getMade(Value value, AxisState state) const {
  return rules.getLoops().getTripCount(value) * getBytes(value) / (state.isSharded() ? axis.getSize() : 1);
}

int64_t SequenceStep::countMadeBytes(ArrayRef<Operation *> ops) const {
  int64_t bytes = 0;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (isTensor(result) && !isUniform(op))
        bytes += getMade(result, getState(result));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Growing
//===----------------------------------------------------------------------===//

namespace mlir::epl {
/// Follows a dimension from a sum in both directions, as far as ops are computed by all members alike.
class RegionGrower {
public:
  explicit RegionGrower(const SequenceStep &step) : step(step), rules(step.rules) {}

  SequenceRegion run(Value sum, int64_t dim) {
    add(sum, dim);
    while (!open.empty())
      visit(open.pop_back_val());
    for (LoopStackOp stack : getStacks())
      keepGathered(stack);
    for (auto [value, dim] : region.dims)
      finish(value, dim);
    return std::move(region);
  }

private:
  void add(Value value, int64_t dim);
  void addAll(ValueRange values, ArrayRef<SmallVector<int64_t>> dimFactors, int64_t factor);
  void visit(Value value);
  bool mayEnter(Operation *op, int64_t factor, bool isReader);
  void enter(Operation *op, int64_t factor, bool isReader);
  void tie(Operation *op);
  bool mayReduce(Operation *op, int64_t factor);
  std::optional<AxisState> getNeeded(OpOperand &use) const;
  SmallVector<LoopStackOp> getStacks() const;
  bool isGathered(Value value) const;
  void keepGathered(LoopStackOp stack);
  void finish(Value value, int64_t dim);
  void leave(OpOperand &use, AxisState needed);

  const SequenceStep &step;
  const FunctionRules &rules;
  SequenceRegion region;
  SmallVector<Value> open; ///< values that are still to be followed
};
} // namespace mlir::epl

/// A part of an argument or of what is made of constants is there anyway: it leads to nothing.
void RegionGrower::add(Value value, int64_t dim) {
  Operation *maker = value.getDefiningOp();
  if (maker && !isUniform(maker) && isTensor(value) && !step.getState(value).isSharded() &&
      region.dims.insert({value, dim}).second)
    open.push_back(value);
}

void RegionGrower::addAll(ValueRange values, ArrayRef<SmallVector<int64_t>> dimFactors, int64_t factor) {
  for (auto [value, factors] : llvm::zip_equal(values, dimFactors))
    if (const auto *dim = llvm::find(factors, factor); dim != factors.end())
      add(value, dim - factors.begin());
}

void RegionGrower::visit(Value value) {
  int64_t dim = region.dims.lookup(value);
  for (OpOperand &use : value.getUses())
    if (use.getOwner()->getBlock() == &step.getBody() && !isa<func::ReturnOp>(use.getOwner()))
      enter(use.getOwner(), rules.getRule(use.getOwner()).operands[use.getOperandNumber()][dim], true);
  auto result = cast<OpResult>(value);
  enter(result.getOwner(), rules.getRule(result.getOwner()).results[result.getResultNumber()][dim], false);
}

/// An op that a pending sum passes is a part of the region if it reads what the region makes, and the sum
/// takes no more to scatter before it than behind it.
bool RegionGrower::mayEnter(Operation *op, int64_t factor, bool isReader) {
  if (region.factors.contains(op) || !step.isReplicated(op) || !rules.canShard(op, factor, step.axis))
    return false;
  auto pending = llvm::make_filter_range(op->getOperands(), [&](Value v) { return step.isLeftPending(v); });
  if (pending.empty())
    return true;
  Value sum = *pending.begin();
  return isReader && llvm::hasSingleElement(pending) && sum.hasOneUse() && op->getNumResults() == 1 &&
         getBytes(sum) <= getBytes(op->getResult(0)) && !region.dims.contains(sum) &&
         llvm::is_contained(rules.getRule(op).operands[sum.use_begin()->getOperandNumber()], factor);
}

void RegionGrower::enter(Operation *op, int64_t factor, bool isReader) {
  if (!mayEnter(op, factor, isReader) || !mayReduce(op, factor))
    return;
  const FactorRule &rule = rules.getRule(op);
  region.factors[op] = factor;
  addAll(op->getResults(), rule.results, factor);
  addAll(op->getOperands(), rule.operands, factor);
  tie(op);
}

/// A carried value has one sharding in all iterations.
void RegionGrower::tie(Operation *op) {
  auto found = isa<LoopCarryOp, LoopLastOp>(op) ? region.dims.find(op->getResult(0)) : region.dims.end();
  if (found == region.dims.end())
    return;
  int64_t dim = found->second;
  if (auto carry = dyn_cast<LoopCarryOp>(op))
    add(rules.getLoops().getLast(carry).getOperand(), dim);
  else if (LoopCarryOp carry = rules.getLoops().getCarry(cast<LoopLastOp>(op)))
    add(carry.getResult(), dim);
}

/// Sums over the dimension are gradients of what the region broadcasts, if that takes less than to gather
/// what is summed. In the forward work such an op is no part of the region: it mixes what it keeps apart.
bool RegionGrower::mayReduce(Operation *op, int64_t factor) {
  const FactorRule &rule = rules.getRule(op);
  if (!rule.isReduction(factor))
    return true;
  if (getKind(op) != WorkKind::backward)
    return false;
  int64_t summed = 0, gathered = 0;
  for (Value result : op->getResults())
    summed += 2 * rules.getLoops().getTripCount(result) * getBytes(result);
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
    if (llvm::is_contained(factors, factor))
      gathered += rules.getLoops().getTripCount(op->getResult(0)) * getMovedBytes(operand);
  if (summed > gathered)
    return false;
  region.extraBytes += summed;
  return true;
}

/// What a use needs of a value once it is known which ops are in the region; none if the use says it itself.
std::optional<AxisState> RegionGrower::getNeeded(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (const auto *inside = region.factors.find(user); inside != region.factors.end())
    return rules.getOperandState(user, use.getOperandNumber(), inside->second);
  bool says = isa<func::ReturnOp>(user) ||
              (user->getBlock() == &step.getBody() && FunctionRules::getSaidFactor(user, step.axis));
  return says ? std::nullopt : std::optional(step.placement.getNeededState(use));
}

bool RegionGrower::isGathered(Value value) const {
  return region.dims.contains(value) && llvm::any_of(value.getUses(), [&](OpOperand &use) {
           std::optional<AxisState> needed = getNeeded(use);
           return needed && needed->isReplicated();
         });
}

/// Those in the region, in program order.
SmallVector<LoopStackOp> RegionGrower::getStacks() const {
  SmallVector<LoopStackOp> stacks;
  for (Operation *op : llvm::make_first_range(region.factors))
    if (auto stack = dyn_cast<LoopStackOp>(op))
      stacks.push_back(stack);
  llvm::sort(stacks,
             [&](LoopStackOp a, LoopStackOp b) { return rules.getPosition(a) < rules.getPosition(b); });
  return stacks;
}

/// What is gathered in the iterations of one loop and again in those of another is stacked as it was
/// gathered, as it is kept where there is no loop.
void RegionGrower::keepGathered(LoopStackOp stack) {
  auto slices = llvm::make_filter_range(stack->getUsers(), llvm::IsaPred<LoopSliceOp>);
  auto isSliceGathered = [&](Operation *slice) { return isGathered(slice->getResult(0)); };
  if (!region.factors.contains(stack) || !isGathered(stack.getOperand()) ||
      llvm::none_of(slices, isSliceGathered))
    return;
  SmallVector<Operation *> whole = {stack};
  llvm::append_range(whole, slices);
  for (Operation *op : whole) {
    region.factors.erase(op);
    region.dims.erase(op->getResult(0));
  }
}

/// Notes where a sum comes into the region and where a value is read otherwise than in its parts.
void RegionGrower::finish(Value value, int64_t dim) {
  if (step.getState(value).partial && !region.factors.contains(value.getDefiningOp()))
    region.sums.push_back(value);
  for (OpOperand &use : value.getUses())
    if (std::optional<AxisState> needed = getNeeded(use); needed && *needed != AxisState::sharded(dim))
      leave(use, *needed);
}

void RegionGrower::leave(OpOperand &use, AxisState needed) {
  Value value = use.get();
  auto isSame = [&](const RegionExit &exit) { return exit.use->get() == value && exit.needed == needed; };
  bool isNew = llvm::none_of(region.exits, isSame);
  region.exits.push_back({&use, needed});
  bool isAgain = getKind(value.getDefiningOp()) == WorkKind::recompute;
  if (isNew && (isAgain || getKind(use.getOwner()) == WorkKind::apply))
    region.extraBytes += rules.getLoops().getTripCount(value) * getBytes(value);
}

SequenceRegion SequenceStep::grow(Value sum, int64_t dim) const { return RegionGrower(*this).run(sum, dim); }
