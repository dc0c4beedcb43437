//===- AxisPlacement.cpp - What each use needs on one axis ----------------===//

#include "passes/shard/analysis/AxisPlacement.h"

#include "dialect/Bytes.h"
#include "dialect/Machine.h"
#include "passes/shard/analysis/Enlarging.h"

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
      chosen([&program](Operation *op) { return program.getChoice(op); }), assumed(program.getAssumed()),
      program(&program) {
  place();
}

AxisPlacement::AxisPlacement(const AxisPlacement &base, const Propagation &program)
    : rules(base.rules), axis(base.axis), bytesOfASum(base.bytesOfASum),
      states([&program](Value value) { return program.getState(value); }),
      chosen([&program](Operation *op) { return program.getChoice(op); }), assumed(program.getAssumed()),
      program(&program), base(&base) {
  assert(base.program && !base.base && base.assumed.isEmpty() && "of a whole propagated program");
  affected.emplace(rules, *base.program, program);
  place();
}

void AxisPlacement::place() {
  if (program)
    choices = program->getChoices().vec();
  else
    choices.assign(llvm::map_iterator(rules.getOps().begin(), chosen),
                   llvm::map_iterator(rules.getOps().end(), chosen));
  findMeeting();
  do {
    collect();
    solve();
  } while (demoteCarries());
  sliceSettled();
}

/// Most ops meet no pending sum: they are told by the numbers of values, without a look at the ops.
void AxisPlacement::findMeeting() {
  meeting.resize(rules.getOps().size(), !program);
  if (!program)
    return;
  unsigned number = 0;
  auto isPending = [&] { return program->getState(number).partial.has_value(); };
  auto add = [&](Value) {
    if (isPending())
      for (unsigned reader : rules.getReaders(number))
        meeting.set(reader);
    ++number;
  };
  llvm::for_each(rules.getFunction().getArguments(), add);
  for (auto [position, op] : llvm::enumerate(rules.getOps()))
    for (Value result : op->getResults()) {
      if (isPending())
        meeting.set(position);
      add(result);
    }
  if (affected)
    meeting &= affected->getPositions();
}

void AxisPlacement::collect() {
  problem = PlacementProblem();
  problem.bytesOfASum = bytesOfASum;
  indices.clear();
  completed.clear();
  for (unsigned position : meeting.set_bits())
    collect(*rules.getOps()[position]);
  for (Value result : rules.getFunction().getBody().front().getTerminator()->getOperands())
    markIllegal(result);
  for (const AssumedConstraints::Constraint &constraint : assumed.get())
    markIllegal(constraint.value);
  for (auto [value, index] : indices)
    problem.values[index].bytes = getBytesToComplete(value);
}

/// A carried sum is pending only if what each iteration makes of it stays so; else it is complete in all
/// iterations. Whether there is one that is not: then the sums have to be placed anew.
bool AxisPlacement::demoteCarries() {
  SmallVector<Value> demoted;
  for (LoopLastOp last : rules.getLasts()) {
    Value carried = rules.getLoops().getCarry(last).getResult();
    OpOperand &next = last.getOperandMutable();
    if (getState(carried).partial && (!getRead(next).partial || isCompleted(next.get())))
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
/// What is sent to other devices is complete: in parts it would be sent as often as it has parts.
void AxisPlacement::collect(Operation &op) {
  auto state = [&](Value value) { return getState(value); };
  auto isPartial = [&](Value value) { return isPending(value, state); };
  auto isRead = [&](OpOperand &use) { return isPending(use, state, assumed); };
  int64_t factor = choices[rules.getPosition(&op)];
  if (llvm::none_of(op.getOpOperands(), isRead) && llvm::none_of(op.getResults(), isPartial) &&
      llvm::none_of(llvm::make_pointee_range(rules.getCapturedTensors(&op)), isRead))
    return;
  SmallVector<OpOperand *> masked;
  auto isSent = [&](OpOperand &use) { return isRead(use) && rules.crossesMeshes(use); };
  FailureOr<SmallVector<AxisState>> made = failure();
  if (llvm::none_of(op.getOpOperands(), isSent) &&
      llvm::none_of(llvm::make_pointee_range(rules.getCapturedTensors(&op)), isSent))
    made = rules.getResultStates(&op, factor, axis, state, assumed, &masked);
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
  llvm::SmallSetVector<unsigned, 4> inputs, outputs;
  for (OpOperand &operand : op.getOpOperands())
    if (std::optional<unsigned> index = getIndex(operand))
      inputs.insert(*index);
  for (Value result : op.getResults())
    if (auto known = indices.find(result); known != indices.end())
      outputs.insert(known->second);
  if (!inputs.empty())
    problem.flows.push_back({inputs.takeVector(), outputs.takeVector(), getMaskedBytes(masked)});
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
  for (OpOperand &operand : op.getOpOperands())
    if (std::optional<unsigned> index = getIndex(operand)) {
      Attribute work = operand.get().getDefiningOp()->getAttr(EplDialect::kWorkAttr);
      bool crosses = work != op.getAttr(EplDialect::kWorkAttr);
      most = std::max(most, problem.values[*index].crossings + crosses);
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

/// Where the pending sum that a use reads is in the problem; none if it reads no such.
std::optional<unsigned> AxisPlacement::getIndex(OpOperand &use) const {
  auto known = assumed.getNeeded(use) ? indices.end() : indices.find(use.get());
  return known == indices.end() ? std::nullopt : std::optional(known->second);
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
  auto isWhole = [&](OpOperand &use) {
    return !isa<RankedTensorType>(use.get().getType()) || getRead(use).isReplicated() ||
           (!assumed.getNeeded(use) && isCompleted(use.get()));
  };
  auto isSettled = [&](Value value) { return settled.contains(value); };
  auto useState = [&](OpOperand &use) { return std::optional(getCompleteState(use)); };
  for (int position = meeting.find_last(); position >= 0; position = meeting.find_prev(position)) {
    Operation *op = rules.getOps()[position];
    if (op->getNumResults() == 0 || !llvm::all_of(op->getResults(), isSettled) ||
        !llvm::all_of(op->getOpOperands(), isWhole))
      continue;
    int64_t factor = rules.chooseSlicedFactor(op, axis, useState);
    if (factor == FactorRule::kBlocked)
      continue;
    choices[position] = factor;
    for (auto [result, factors] : llvm::zip_equal(op->getResults(), rules.getRule(op).results))
      settled[result] = AxisState::sharded(llvm::find(factors, factor) - factors.begin());
  }
}

void AxisPlacement::commit() {
  for (auto [op, factor] : llvm::zip_equal(rules.getOps(), choices))
    if (factor != chosen(op))
      setChosenFactor(op, axis, factor);
  for (auto [value, state] : settled)
    setSharding(value, withAxisState(getSharding(value), rules.getMesh(), axis.getName(), state));
}

/// One reshard for each state that uses need of a value, or of what a constraint on it makes.
int64_t AxisPlacement::getReshardedBytes(Value value, const AssumedConstraints::Constraint *source) const {
  AxisState own = source ? source->state : getState(value);
  if (!own.isSharded())
    return 0;
  int64_t bytes = 0, moved = source ? getBytes(value) : getMovedBytes(value, assumed);
  SmallVector<AxisState, 2> made = {own};
  for (OpOperand &use : value.getUses()) {
    if (!assumed.reaches(use, source))
      continue;
    const AssumedConstraints::Constraint *next = assumed.getNext(use, source);
    AxisState needed = next ? next->state : getNeededState(use);
    if (llvm::is_contained(made, needed))
      continue;
    made.push_back(needed);
    bytes += needed.isSharded() ? moved / axis.getSize() : moved;
  }
  return bytes * rules.getLoops().getTripCount(value);
}

/// The values that may have traffic: not those that are replicated.
SmallVector<Value> AxisPlacement::getMoving() const {
  SmallVector<Value> moving;
  unsigned number = 0;
  auto add = [&](Value value) {
    if (!program || !program->getState(number).isReplicated())
      moving.push_back(value);
    ++number;
  };
  llvm::for_each(rules.getFunction().getArguments(), add);
  for (Operation *op : rules.getOps())
    llvm::for_each(op->getResults(), add);
  return moving;
}

/// The values whose traffic may be another one than in `base`: what is made or read by the ops that were
/// looked at.
SmallVector<Value> AxisPlacement::getTouched() const {
  SmallVector<Value> touched;
  ArrayRef<Value> arguments = affected->getArguments();
  llvm::append_range(touched, arguments);
  llvm::SmallDenseSet<Value> seen(arguments.begin(), arguments.end());
  for (Operation *op : getOps()) {
    llvm::append_range(touched, op->getResults());
    for (Value operand : op->getOperands())
      if (!isLookedAt(rules.findPosition(operand.getDefiningOp())) && seen.insert(operand).second)
        touched.push_back(operand);
  }
  return touched;
}

int64_t AxisPlacement::getTraffic(Value value) const {
  if (!isa<RankedTensorType>(value.getType()))
    return 0;
  return isCompleted(value) ? getBytesToComplete(value) : getReshardedBytes(value);
}

int64_t AxisPlacement::getTraffic() const {
  if (traffic)
    return *traffic;
  int64_t bytes = base ? base->getTraffic() : 0;
  for (Value value : base ? getTouched() : getMoving())
    bytes += getTraffic(value) - (base ? base->getTraffic(value) : 0);
  for (const AssumedConstraints::Constraint &constraint : assumed.get())
    bytes += getReshardedBytes(constraint.value, &constraint);
  traffic = bytes;
  return bytes;
}

/// Whether a reshard reads its operand as it is on this axis: nothing is pending, and what is sharded there
/// divides by the axes of both.
bool AxisPlacement::staysBefore(ReshardOp reshard) const {
  AxisState own = getRead(reshard.getOperandMutable());
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
  if (std::optional<AxisState> needed = assumed.getNeeded(use))
    return *needed;
  return getOwnNeed(use);
}

AxisState AxisPlacement::getOwnNeed(OpOperand &use) const {
  if (isa<func::ReturnOp>(use.getOwner())) {
    BlockArgument updated = rules.getUpdatedArgument(use.getOperandNumber());
    return updated ? getState(updated) : AxisState::sharded(getRead(use).dim);
  }
  if (auto reshard = dyn_cast<ReshardOp>(use.getOwner()); reshard && staysBefore(reshard))
    return getRead(use);
  std::optional<int64_t> choice = getChoice(use.getOwner());
  if (!choice) // Captured inside of an op.
    return {};
  return rules.getOperandState(use.getOwner(), use.getOperandNumber(), *choice);
}

/// Whether the use reads a complete value that is to be added to a pending sum once.
bool AxisPlacement::isMasked(OpOperand &use) const {
  Operation *op = use.getOwner();
  std::optional<int64_t> choice = getChoice(op);
  auto state = [&](Value value) { return getState(value); };
  if (!choice || llvm::none_of(op->getResults(), [&](Value result) { return isPending(result, state); }))
    return false;
  SmallVector<OpOperand *> masked;
  return succeeded(rules.getResultStates(op, *choice, axis, state, assumed, &masked)) &&
         llvm::is_contained(masked, &use);
}

AxisState AxisPlacement::getNeededState(OpOperand &use) const {
  AxisState own = getRead(use);
  if (own.isReplicated() && isMasked(use))
    return AxisState::pending(ReductionKind::sum);
  return own.partial && !isCompleted(use.get()) ? own : getOwnNeed(use);
}
