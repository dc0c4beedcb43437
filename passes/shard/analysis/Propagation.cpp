//===- Propagation.cpp - The states of all values on one axis -------------===//

#include "passes/shard/analysis/Propagation.h"

using namespace mlir;
using namespace mlir::epl;

static Block &getBody(func::FuncOp function) { return function.getBody().front(); }

/// Sharded arguments can make their tied results sharded, which can shard more arguments: every round shards
/// one more argument at least, or a carried value, so there are finitely many.
void Propagation::run() {
  for (auto carry : getBody(rules.getFunction()).getOps<LoopCarryOp>())
    if (rules.isAccumulator(carry))
      found[carry.getResult()] = AxisState::pending(ReductionKind::sum);
  bool changed = true;
  while (changed) {
    initialize();
    forward();
    reverse();
    changed = shardArguments();
    changed |= settleCarries();
  }
}

void Propagation::initialize() {
  states.clear();
  for (BlockArgument argument : rules.getFunction().getArguments())
    if (ShardingAttr declared = getSharding(argument))
      states[argument] = getAxisState(declared, axis.getName());
  for (BlockArgument argument : open)
    states[argument] = found.lookup(argument);
}

/// What flows partial as far as it can is only where placement may start from; ops that are not linear in
/// what they read or capture are computed as if that were complete.
void Propagation::choose(Operation &op, int64_t factor) {
  auto current = [&](Value value) { return getState(value); };
  auto completed = [&](Value value) { return getState(value).partial ? AxisState() : getState(value); };
  choices[&op] = factor;
  FailureOr<SmallVector<AxisState>> results = rules.getResultStates(&op, factor, axis, current);
  if (failed(results))
    results = rules.getResultStates(&op, factor, axis, completed);
  for (auto [result, state] : llvm::zip_equal(op.getResults(), *results))
    states[result] = state;
}

/// In program order: each op chooses its factor from its operands.
void Propagation::forward() {
  auto current = [&](Value value) { return getState(value); };
  for (Operation &op : getBody(rules.getFunction()).without_terminator()) {
    if (auto carry = dyn_cast<LoopCarryOp>(op))
      enter(carry);
    else if (auto last = dyn_cast<LoopLastOp>(op); last && rules.getLoops().getCarry(last))
      leave(last);
    else
      choose(op, rules.chooseFactor(&op, axis, current));
  }
}

/// A carried value has one state in all iterations, by default that of the first one.
void Propagation::enter(LoopCarryOp carry) {
  AxisState init = getState(carry.getInit());
  auto known = found.find(carry.getResult());
  bool isKnown = known != found.end();
  states[carry.getResult()] = isKnown ? known->second : init.isSharded() ? init : AxisState();
  choices[carry] = rules.chooseFactor(carry, axis, [&](Value value) { return getState(value); });
}

void Propagation::leave(LoopLastOp last) {
  LoopCarryOp carry = rules.getLoops().getCarry(last);
  states[last.getResult()] = getState(carry.getResult());
  choices[last] = choices.lookup(carry);
}

/// What an iteration makes decides for all iterations: sums that it does not leave pending are complete in
/// all of them, replicated values that it shards are sharded in all.
bool Propagation::settleCarries() {
  bool changed = false;
  for (auto last : getBody(rules.getFunction()).getOps<LoopLastOp>()) {
    LoopCarryOp carry = rules.getLoops().getCarry(last);
    if (!carry)
      continue;
    AxisState state = getState(carry.getResult()), next = getState(last.getOperand());
    bool isBroken = state.partial && state != next;
    if (!isBroken && !(state.isReplicated() && next.isSharded()))
      continue;
    found[carry.getResult()] = isBroken ? AxisState() : next;
    changed = true;
  }
  return changed;
}

std::optional<AxisState> Propagation::getUseState(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (!choices.contains(user)) // The return, or a capture inside of an op.
    return std::nullopt;
  return rules.getOperandState(user, use.getOperandNumber(), choices.lookup(user));
}

/// Masks, zeros, iotas and constants are made in the size that their users read, and so is what is made of a
/// complete sum: the square of a gradient whose optimizer state is sharded.
void Propagation::reverse() {
  auto useState = [&](OpOperand &use) { return getUseState(use); };
  for (Operation &op : llvm::reverse(getBody(rules.getFunction()).without_terminator())) {
    auto isReplicated = [&](Value value) { return getState(value).isReplicated(); };
    auto isSharded = [&](Value value) { return getState(value).isSharded(); };
    if (rules.getSaidFactor(&op, axis) || isa<LoopCarryOp, LoopLastOp>(op) ||
        choices.lookup(&op) != FactorRule::kBlocked || llvm::any_of(op.getOperands(), isSharded) ||
        !llvm::all_of(op.getResults(), isReplicated))
      continue;
    int64_t factor = rules.chooseSlicedFactor(&op, axis, useState);
    if (factor != FactorRule::kBlocked)
      choose(op, factor);
  }
}

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
    found[argument] = state;
    changed = true;
  }
  return changed;
}

void Propagation::commit() {
  for (auto [op, factor] : choices)
    setChosenFactor(op, axis, factor);
  FlatSymbolRefAttr mesh = FlatSymbolRefAttr::get(rules.getMesh().getSymNameAttr());
  for (auto [value, state] : states) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    ShardingAttr sharding = getSharding(value);
    if (value.getDefiningOp<ReshardOp>()) // which says it
      continue;
    if (!sharding)
      sharding = ShardingAttr::getReplicated(mesh, type.getRank());
    setSharding(value, withAxisState(sharding, rules.getMesh(), axis.getName(), state));
  }
}
