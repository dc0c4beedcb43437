//===- AxisPlacement.cpp - What each use needs on one axis ----------------===//

#include "passes/shard/analysis/AxisPlacement.h"

#include "dialect/Bytes.h"
#include "dialect/Machine.h"
#include "passes/shard/analysis/Enlarging.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-axis-placement"

using namespace mlir;
using namespace mlir::epl;

AxisPlacement::AxisPlacement(const FunctionRules &rules, AxisAttr axis)
    : rules(rules), axis(axis), bytesOfASum(getBytesOfASum(getMachine(rules.getFunction()))),
      states([axis](Value value) { return getAxisState(getSharding(value), axis.getName()); }),
      chosen([axis](Operation *op) { return getChosenFactor(op, axis); }) {
  place();
}

AxisPlacement::AxisPlacement(const FunctionRules &rules, AxisAttr axis, const Propagation &program)
    : rules(rules), axis(axis), bytesOfASum(getBytesOfASum(getMachine(rules.getFunction()))),
      states([&program](Value value) { return program.getState(value); }),
      chosen([&program](Operation *op) { return program.getChoice(op); }) {
  place();
}

void AxisPlacement::place() {
  do {
    collect();
    solve();
  } while (demoteCarries());
  sliceSettled();
}

void AxisPlacement::collect() {
  problem = PlacementProblem();
  problem.bytesOfASum = bytesOfASum;
  indices.clear();
  completed.clear();
  Block &body = rules.getFunction().getBody().front();
  for (Operation &op : body.without_terminator())
    collect(op);
  for (Value result : body.getTerminator()->getOperands())
    markIllegal(result);
  for (auto [value, index] : indices)
    problem.values[index].bytes = getBytesToComplete(value);
}

/// A carried sum is pending only if what each iteration makes of it stays so; else it is complete in all
/// iterations. Whether there is one that is not: then the sums have to be placed anew.
bool AxisPlacement::demoteCarries() {
  SmallVector<Value> demoted;
  for (auto last : rules.getFunction().getBody().front().getOps<LoopLastOp>()) {
    LoopCarryOp carry = rules.getLoops().getCarry(last);
    Value carried = carry ? carry.getResult() : Value(), next = last.getOperand();
    if (carried && getState(carried).partial && (!getState(next).partial || completed.contains(next)))
      demoted.push_back(carried);
  }
  if (demoted.empty())
    return false;
  settled.clear();
  for (Value carried : demoted)
    complete.push_back(carried);
  for (Value carried : complete)
    settled[carried] = AxisState();
  return true;
}

/// Adds the op's partial results and what it means for its partial operands: passed on, or needed complete.
void AxisPlacement::collect(Operation &op) {
  auto state = [&](Value value) { return getState(value); };
  auto isPartial = [&](Value value) { return isPending(value, state); };
  auto isCaptured = [&](OpOperand *use) { return isPartial(use->get()); };
  int64_t factor = choices[&op] = chosen(&op);
  if (llvm::none_of(op.getOperands(), isPartial) && llvm::none_of(op.getResults(), isPartial) &&
      llvm::none_of(rules.getCapturedTensors(&op), isCaptured))
    return;
  SmallVector<OpOperand *> masked;
  FailureOr<SmallVector<AxisState>> made = rules.getResultStates(&op, factor, axis, state, &masked);
  for (OpResult result : op.getResults())
    if (isPartial(result))
      addPartial(result, factor != FactorRule::kBlocked || isa<LoopCarryOp>(op),
                 succeeded(made) && (*made)[result.getResultNumber()].partial.has_value());
  if (failed(made)) {
    for (Value operand : op.getOperands())
      markIllegal(operand);
    for (OpOperand *captured : rules.getCapturedTensors(&op))
      markIllegal(captured->get());
    return;
  }
  if (SmallVector<unsigned> inputs = getIndices(op.getOperands()); !inputs.empty())
    problem.flows.push_back({inputs, getIndices(op.getResults()), getMaskedBytes(masked)});
}

/// Adds a result that propagation has found to be partial. If its op neither makes it so, whatever it reads,
/// nor passes partial operands on, it was made of a carried sum that is complete now (`demoteCarries`), and
/// is complete itself.
void AxisPlacement::addPartial(OpResult result, bool born, bool passed) {
  if (!born && !passed) {
    settled[result] = AxisState();
    return;
  }
  bool onlySumsFlow = *getState(result).partial != ReductionKind::sum;
  indices[result] = problem.values.size();
  problem.values.push_back({/*bytes=*/0, born ? 0 : countCrossings(*result.getOwner()), born, onlySumsFlow});
}

/// What making zeros of complete operands on all members but one reads and writes.
int64_t AxisPlacement::getMaskedBytes(ArrayRef<OpOperand *> masked) const {
  int64_t bytes = 0;
  for (OpOperand *use : masked)
    bytes += 2 * getBytes(use->get()) * rules.getLoops().getTripCount(use->get());
  return bytes;
}

/// How often the sums that `op` reads went over to another work, the step to `op` counted.
int64_t AxisPlacement::countCrossings(Operation &op) const {
  int64_t most = 0;
  for (Value operand : op.getOperands())
    if (auto known = indices.find(operand); known != indices.end()) {
      bool crosses =
          operand.getDefiningOp()->getAttr(EplDialect::kWorkAttr) != op.getAttr(EplDialect::kWorkAttr);
      most = std::max(most, problem.values[known->second].crossings + crosses);
    }
  return most;
}

/// Reducing and gathering move the same; what all uses want in parts needs no gathering.
int64_t AxisPlacement::getBytesToComplete(Value value) const {
  auto states = llvm::map_range(value.getUses(), [&](OpOperand &use) { return getCompleteState(use); });
  bool inParts = !states.empty() && (*states.begin()).isSharded() && llvm::all_equal(states);
  int64_t tripCount = rules.getLoops().getTripCount(value);
  return tripCount * getBytes(value) * (inParts ? 1 : 2) + (tripCount - 1) * bytesOfASum;
}

void AxisPlacement::markIllegal(Value value) {
  if (auto known = indices.find(value); known != indices.end())
    problem.values[known->second].illegal = true;
}

SmallVector<unsigned> AxisPlacement::getIndices(ValueRange values) const {
  llvm::SmallSetVector<unsigned, 4> found;
  for (Value value : values)
    if (auto known = indices.find(value); known != indices.end())
      found.insert(known->second);
  return SmallVector<unsigned>(found.getArrayRef());
}

void AxisPlacement::solve() {
  llvm::BitVector resolved = placeSums(problem);
  llvm::BitVector pending = getPending(problem, resolved);
  for (auto [value, index] : indices) {
    if (resolved.test(index)) {
      LDBG() << value.getDefiningOp()->getName() << " of " << value.getType() << " is completed over "
             << axis.getName() << ", " << problem.values[index].bytes << " bytes";
      completed.insert(value);
    }
    if (!pending.test(index))
      settled[value] = AxisState();
  }
}

/// Ops that passed a pending sum in `states` and read a complete one now: where all uses take the same part
/// of what they make, they make that part only.
void AxisPlacement::sliceSettled() {
  auto isWhole = [&](Value value) {
    return !isa<RankedTensorType>(value.getType()) || completed.contains(value) ||
           getState(value).isReplicated();
  };
  auto isSettled = [&](Value value) { return settled.contains(value); };
  auto useState = [&](OpOperand &use) { return std::optional(getCompleteState(use)); };
  for (Operation &op : llvm::reverse(rules.getFunction().getBody().front().without_terminator())) {
    if (op.getNumResults() == 0 || !llvm::all_of(op.getResults(), isSettled) ||
        !llvm::all_of(op.getOperands(), isWhole))
      continue;
    int64_t factor = rules.chooseSlicedFactor(&op, axis, useState);
    if (factor == FactorRule::kBlocked)
      continue;
    choices[&op] = factor;
    for (auto [result, factors] : llvm::zip_equal(op.getResults(), rules.getRule(&op).results))
      settled[result] = AxisState::sharded(llvm::find(factors, factor) - factors.begin());
  }
}

void AxisPlacement::commit() {
  for (auto [op, factor] : choices)
    if (factor != chosen(op))
      setChosenFactor(op, axis, factor);
  for (auto [value, state] : settled)
    setSharding(value, withAxisState(getSharding(value), rules.getMesh(), axis.getName(), state));
}

/// One reshard for each state that uses need.
int64_t AxisPlacement::getReshardedBytes(Value value) const {
  AxisState own = getState(value);
  if (!own.isSharded())
    return 0;
  int64_t bytes = 0, moved = getMovedBytes(value);
  SmallVector<AxisState, 2> made = {own};
  for (OpOperand &use : value.getUses()) {
    AxisState needed = getNeededState(use);
    if (llvm::is_contained(made, needed))
      continue;
    made.push_back(needed);
    bytes += needed.isSharded() ? moved / axis.getSize() : moved;
  }
  return bytes * rules.getLoops().getTripCount(value);
}

int64_t AxisPlacement::getTraffic() const {
  int64_t bytes = 0;
  auto count = [&](Value value) {
    if (isa<RankedTensorType>(value.getType()))
      bytes += completed.contains(value) ? getBytesToComplete(value) : getReshardedBytes(value);
  };
  Block &body = rules.getFunction().getBody().front();
  llvm::for_each(body.getArguments(), count);
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), count);
  return bytes;
}

/// Whether a reshard reads its operand as it is on this axis: nothing is pending, and what is sharded there
/// divides by the axes of both.
bool AxisPlacement::staysBefore(ReshardOp reshard) const {
  AxisState own = getState(reshard.getOperand());
  if (!own.isSharded())
    return !own.partial;
  llvm::SmallSetVector<StringRef, 4> axes;
  axes.insert(axis.getName());
  axes.insert_range(reshard.getSharding().getDimAxes(own.dim));
  if (ShardingAttr sharding = getSharding(reshard.getOperand()))
    axes.insert_range(sharding.getDimAxes(own.dim));
  int64_t size = cast<RankedTensorType>(reshard.getType()).getDimSize(own.dim);
  return size % getAxesSize(rules.getMesh(), axes.getArrayRef()) == 0;
}

AxisState AxisPlacement::getCompleteState(OpOperand &use) const {
  if (isa<func::ReturnOp>(use.getOwner())) {
    BlockArgument updated = rules.getUpdatedArgument(use.getOperandNumber());
    return updated ? getState(updated) : AxisState::sharded(getState(use.get()).dim);
  }
  if (auto reshard = dyn_cast<ReshardOp>(use.getOwner()); reshard && staysBefore(reshard))
    return getState(use.get());
  auto choice = choices.find(use.getOwner());
  if (choice == choices.end()) // Captured inside of an op.
    return {};
  return rules.getOperandState(use.getOwner(), use.getOperandNumber(), choice->second);
}

/// Whether the use reads a complete value that is to be added to a pending sum once.
bool AxisPlacement::isMasked(OpOperand &use) const {
  Operation *op = use.getOwner();
  auto choice = choices.find(op);
  auto state = [&](Value value) { return getState(value); };
  if (choice == choices.end() ||
      llvm::none_of(op->getResults(), [&](Value result) { return isPending(result, state); }))
    return false;
  SmallVector<OpOperand *> masked;
  return succeeded(rules.getResultStates(op, choice->second, axis, state, &masked)) &&
         llvm::is_contained(masked, &use);
}

AxisState AxisPlacement::getNeededState(OpOperand &use) const {
  AxisState own = getState(use.get());
  if (own.isReplicated() && isMasked(use))
    return AxisState::pending(ReductionKind::sum);
  return own.partial && !completed.contains(use.get()) ? own : getCompleteState(use);
}
