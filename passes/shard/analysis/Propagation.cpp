//===- Propagation.cpp - The states of all values on one axis -------------===//
//
// Two walks, one in program order and one in reverse, are functions of the states of arguments and carried
// values. They find more of these, so that both go on until they find no more. Each walk keeps what it has
// computed: an op is looked at again only if something that it was computed from has changed.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/Propagation.h"

#include "dialect/Channels.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-propagation"

using namespace mlir;
using namespace mlir::epl;

static Block &getBody(func::FuncOp function) { return function.getBody().front(); }

Propagation::Propagation(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open)
    : rules(rules), axis(axis), open(open) {
  initialize();
}

void Propagation::initialize() {
  chosen.states.resize(rules.getNumValues());
  chosen.choices.assign(rules.getOps().size(), FactorRule::kBlocked);
  dirty.resize(rules.getOps().size(), true);
  chosenAnew.resize(rules.getOps().size());
  for (BlockArgument argument : rules.getFunction().getArguments())
    if (ShardingAttr declared = getSharding(argument))
      chosen.states[argument.getArgNumber()] = getAxisState(declared, axis.getName());
  for (BlockArgument argument : open)
    chosen.states[argument.getArgNumber()] = AxisState();
  settled = chosen;
  for (auto carry : getBody(rules.getFunction()).getOps<LoopCarryOp>())
    if (rules.isAccumulator(carry))
      found[carry.getResult()] = AxisState::pending(ReductionKind::sum);
}

void Propagation::seed(BlockArgument argument, AxisState state) {
  if (getState(chosen, argument) != state)
    setFound(argument, state);
}

/// Sets the state of an open argument, or what a carried value is in all iterations.
void Propagation::setFound(Value value, AxisState state) {
  LDBG() << value << " over " << axis.getName() << ": " << describeState(state);
  found[value] = state;
  if (auto carry = value.getDefiningOp<LoopCarryOp>()) {
    dirty.set(rules.getPosition(carry));
    return;
  }
  unsigned number = *rules.getNumber(value);
  chosen.states[number] = settled.states[number] = state;
  markUsers(number, dirty);
}

void Propagation::assume(AssumedConstraints constraints) {
  assert(assumed.isEmpty() && "constraints are assumed once");
  assumed = std::move(constraints);
  for (const AssumedConstraints::Constraint &constraint : assumed.get()) {
    markUsers(*rules.getNumber(constraint.value), dirty);
    stopAccumulating(constraint.value);
    if (Operation *maker = constraint.value.getDefiningOp())
      chosenAnew.set(rules.getPosition(maker));
  }
}

/// A carried value is a pending sum only where nothing but the addition of an iteration stands between its
/// ends (`FunctionRules::isAccumulator`), which a constraint on either does.
void Propagation::stopAccumulating(Value value) {
  auto stop = [&](LoopCarryOp carry) {
    if (carry && found.erase(carry.getResult()))
      dirty.set(rules.getPosition(carry));
  };
  stop(value.getDefiningOp<LoopCarryOp>());
  for (Operation *user : value.getUsers())
    if (auto last = dyn_cast<LoopLastOp>(user))
      stop(rules.getLoops().getCarry(last));
}

void Propagation::update() {
  forward();
  reverse();
}

/// Sharded arguments can make their tied results sharded, which can shard more arguments: every round shards
/// one more argument at least, or a carried value, so there are finitely many.
void Propagation::run() {
  bool changed = true;
  while (changed) {
    update();
    changed = shardArguments();
    changed |= settleCarries();
  }
}

//===----------------------------------------------------------------------===//
// In program order
//===----------------------------------------------------------------------===//

/// Marks the ops that read the value of a number, those that capture it among them.
void Propagation::markUsers(unsigned number, llvm::BitVector &marked) const {
  for (unsigned position : rules.getReaders(number))
    marked.set(position);
}

/// Each op chooses its factor from its operands.
void Propagation::forward() {
  for (int position = dirty.find_first(); position >= 0; position = dirty.find_next(position)) {
    dirty.reset(position);
    chosenAnew.set(position);
    visit(position);
    ++steps;
  }
}

void Propagation::visit(unsigned position) {
  Operation *op = rules.getOps()[position];
  MutableArrayRef<PackedState> results = getResults(chosen, position);
  SmallVector<PackedState, 2> before(results);
  llvm::fill(results, AxisState());
  auto current = [&](Value value) { return getState(chosen, value); };
  if (auto carry = dyn_cast<LoopCarryOp>(op))
    enter(carry);
  else if (auto last = dyn_cast<LoopLastOp>(op); last && rules.getLoops().getCarry(last))
    leave(last);
  else
    choose(chosen, position, rules.chooseFactor(op, axis, current, assumed));
  for (auto [index, result] : llvm::enumerate(results))
    if (AxisState(result) != AxisState(before[index]))
      markUsers(rules.getFirstResult(position) + index, dirty);
}

/// What flows partial as far as it can is only where placement may start from; ops that are not linear in
/// what they read or capture are computed as if that were complete.
void Propagation::choose(Walk &walk, unsigned position, int64_t factor) {
  Operation *op = rules.getOps()[position];
  auto current = [&](Value value) { return getState(chosen, value); };
  auto completed = [&](Value value) { return current(value).partial ? AxisState() : current(value); };
  walk.choices[position] = factor;
  FailureOr<SmallVector<AxisState>> results = rules.getResultStates(op, factor, axis, current, assumed);
  if (failed(results))
    results = rules.getResultStates(op, factor, axis, completed, assumed);
  llvm::copy(*results, getResults(walk, position).begin());
}

/// A carried value has one state in all iterations, by default that of the first one.
void Propagation::enter(LoopCarryOp carry) {
  AxisState init = getRead(chosen, carry.getInitMutable());
  auto known = found.find(carry.getResult());
  bool isKnown = known != found.end();
  chosen.states[*rules.getNumber(carry.getResult())] = isKnown            ? known->second
                                                       : init.isSharded() ? init
                                                                          : AxisState();
  auto current = [&](Value value) { return getState(chosen, value); };
  chosen.choices[rules.getPosition(carry)] = rules.chooseFactor(carry, axis, current);
  if (LoopLastOp last = rules.getLoops().getLast(carry))
    dirty.set(rules.getPosition(last));
}

void Propagation::leave(LoopLastOp last) {
  LoopCarryOp carry = rules.getLoops().getCarry(last);
  chosen.states[*rules.getNumber(last.getResult())] = getState(chosen, carry.getResult());
  chosen.choices[rules.getPosition(last)] = chosen.choices[rules.getPosition(carry)];
}

/// What an iteration makes decides for all iterations: sums that it does not leave pending are complete in
/// all of them, replicated values that it shards are sharded in all.
bool Propagation::settleCarries() {
  bool changed = false;
  for (LoopLastOp last : rules.getLasts()) {
    LoopCarryOp carry = rules.getLoops().getCarry(last);
    AxisState state = getState(carry.getResult()), next = getRead(last.getOperandMutable());
    bool isBroken = state.partial && state != next;
    if (!isBroken && !(state.isReplicated() && next.isSharded()))
      continue;
    setFound(carry.getResult(), isBroken ? AxisState() : next);
    changed = true;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// In reverse
//===----------------------------------------------------------------------===//

std::optional<AxisState> Propagation::getUseState(OpOperand &use) const {
  if (std::optional<AxisState> needed = assumed.getNeeded(use))
    return needed;
  Operation *user = use.getOwner();
  std::optional<unsigned> position = rules.findPosition(user);
  if (!position) // The return, or a capture inside of an op.
    return std::nullopt;
  return rules.getOperandState(user, use.getOperandNumber(), settled.choices[*position]);
}

/// What an op shards in the end depends on what it has chosen and on what its users shard in the end.
void Propagation::reverse() {
  for (int position = chosenAnew.find_last(); position >= 0; position = chosenAnew.find_prev(position)) {
    chosenAnew.reset(position);
    int64_t before = settled.choices[position];
    settled.choices[position] = chosen.choices[position];
    llvm::copy(getResults(chosen, position), getResults(settled, position).begin());
    slice(position);
    ++steps;
    if (settled.choices[position] == before)
      continue;
    for (Value operand : rules.getOps()[position]->getOperands())
      if (std::optional<unsigned> producer = rules.findPosition(operand.getDefiningOp()))
        chosenAnew.set(*producer);
  }
}

/// Whether each iteration takes `op` from messages of another mesh, which all its readers have as they come.
/// It is distributed anew in the iteration: the messages of all would have to be there, else.
bool Propagation::takesMessage(Operation *op) const {
  auto slice = dyn_cast<LoopSliceOp>(op);
  if (!slice || !isReceivedInMessages(slice.getOperand()))
    return false;
  auto argument = cast<BlockArgument>(slice.getOperand());
  return !llvm::is_contained(open, argument) || !argument.hasOneUse();
}

/// Masks, zeros, iotas and constants are made in the size that their users read, and so is what is made of a
/// complete sum: the square of a gradient whose optimizer state is sharded.
void Propagation::slice(unsigned position) {
  auto isReplicated = [](AxisState state) { return state.isReplicated(); };
  if (settled.choices[position] != FactorRule::kBlocked ||
      !llvm::all_of(getResults(chosen, position), isReplicated))
    return;
  Operation *op = rules.getOps()[position];
  auto useState = [&](OpOperand &use) { return getUseState(use); };
  auto isSharded = [&](OpOperand &use) { return getRead(chosen, use).isSharded(); };
  if (rules.getSaidFactor(op, axis) || isa<LoopCarryOp, LoopLastOp>(op) || takesMessage(op) ||
      llvm::any_of(op->getOpOperands(), isSharded))
    return;
  int64_t factor = rules.chooseSlicedFactor(op, axis, useState);
  if (factor == FactorRule::kBlocked)
    return;
  LDBG() << op->getName() << " over " << axis.getName() << ": factor " << factor
         << ", all that is read of it";
  choose(settled, position, factor);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The state of the result that updates `argument`.
AxisState Propagation::getTiedState(BlockArgument argument) const {
  Value update = rules.getUpdate(argument);
  return update ? getState(update) : AxisState();
}

/// Shards open arguments that are only read in slices or whose next value comes out sharded.
bool Propagation::shardArguments() {
  bool changed = false;
  auto useState = [&](OpOperand &use) { return getUseState(use); };
  for (BlockArgument argument : open) {
    if (!getState(argument).isReplicated())
      continue;
    AxisState state = getSlicedState(argument, useState).value_or(getTiedState(argument));
    if (!state.isSharded() || !rules.divides(argument, state.dim, axis))
      continue;
    setFound(argument, state);
    changed = true;
  }
  return changed;
}

Propagation::Changes Propagation::compare(const Propagation &other) const {
  assert(&rules == &other.rules && "of the same program");
  Changes changes;
  unsigned number = 0;
  auto compareState = [&](Value value) {
    if (getState(number) != other.getState(number))
      changes.values.push_back(value);
    ++number;
  };
  llvm::for_each(rules.getFunction().getArguments(), compareState);
  for (auto [position, op] : llvm::enumerate(rules.getOps())) {
    if (settled.choices[position] != other.settled.choices[position])
      changes.ops.push_back(op);
    llvm::for_each(op->getResults(), compareState);
  }
  return changes;
}

void Propagation::commit() {
  FlatSymbolRefAttr mesh = FlatSymbolRefAttr::get(rules.getMesh().getSymNameAttr());
  auto add = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || value.getDefiningOp<ReshardOp>()) // which says it
      return;
    ShardingAttr sharding = getSharding(value);
    if (!sharding)
      sharding = ShardingAttr::getReplicated(mesh, type.getRank());
    setSharding(value, withAxisState(sharding, rules.getMesh(), axis.getName(), getState(value)));
  };
  llvm::for_each(rules.getFunction().getArguments(), add);
  for (Operation *op : rules.getOps()) {
    setChosenFactor(op, axis, getChoice(op));
    llvm::for_each(op->getResults(), add);
  }
}
