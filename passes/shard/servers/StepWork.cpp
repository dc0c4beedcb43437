//===- StepWork.cpp - The work of groups and of workers --------------------===//

#include "passes/shard/analysis/Describe.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/servers/StepSplit.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// What workers can do
//===----------------------------------------------------------------------===//

/// The states of servers that workers read.
void StepSplit::findPulled() {
  for (auto [state, result] : served)
    for (OpOperand &use : state.getUses()) {
      Operation *user = body.findAncestorOpInBlock(*use.getOwner());
      bool isReturned = isa<func::ReturnOp>(user);
      BlockArgument updated = isReturned ? getUpdatedArgument(step, use.getOperandNumber()) : BlockArgument();
      if (isReturned ? !updated || !served.contains(updated) : !isFollowed(*user))
        pulled.insert(state);
    }
}

bool StepSplit::isComputable(Value value) const {
  if (Operation *maker = value.getDefiningOp())
    return computable.contains(maker);
  auto argument = cast<BlockArgument>(value);
  return !served.contains(argument) || pulled.contains(argument);
}

/// What depends on no state that servers alone have. A carried value is so if each iteration's is.
void StepSplit::findComputable() {
  DenseSet<Operation *> others; // carried values that are not
  for (bool changed = true; changed;) {
    changed = false;
    computable.clear();
    for (Operation &op : body.without_terminator())
      if (!others.contains(&op) &&
          llvm::all_of(getUsedValues(&op), [&](Value value) { return isComputable(value); }))
        computable.insert(&op);
    for (auto carry : body.getOps<LoopCarryOp>()) {
      LoopLastOp last = loops.getLast(carry);
      if (last && !computable.contains(last))
        changed |= others.insert(carry).second;
    }
  }
}

/// Of what applies gradients the ops that are made of these, of numbers and of autonomous states alone.
void StepSplit::findOfGradients() {
  auto isOfGradients = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    if (!maker)
      return !served.contains(cast<BlockArgument>(value));
    return !applied.contains(maker) || autonomous.contains(maker) || ofGradients.contains(maker);
  };
  for (Operation &op : body.without_terminator())
    if (isFollowed(op) && computable.contains(&op) && !loops.getLoop(&op) &&
        llvm::all_of(getUsedValues(&op), isOfGradients))
      ofGradients.insert(&op);
}

/// Whether an op makes a number that leads to several groups.
bool StepSplit::isCommon(Operation *op) const {
  const StateGroups::Leads *leads = classes->getLeads(op);
  if (!leads || llvm::any_of(op->getResults(), [](Value value) { return countElements(value) > 1; }))
    return false;
  std::optional<unsigned> first;
  for (unsigned index : leads->all.set_bits()) {
    unsigned leader = classes->find(classes->getResults()[index]);
    if (first.value_or(leader) != leader)
      return true;
    first = leader;
  }
  return false;
}

/// Whether an op reads a state of another group.
bool StepSplit::readsOthers(Operation *op, unsigned leader) const {
  return llvm::any_of(getUsedValues(op),
                      [&](Value value) { return getLeader(value).value_or(leader) != leader; });
}

//===----------------------------------------------------------------------===//
// The work of a group
//===----------------------------------------------------------------------===//

/// What makes the new values of a group, if what the ops in `pushed` make is pushed.
ServerWork StepSplit::collect(unsigned leader, const DenseSet<Operation *> &pushed) const {
  ServerWork work;
  SetVector<Value> open;
  for (BlockArgument state : getStates(leader))
    open.insert(nextValues.lookup(state));
  for (size_t next = 0; next < open.size(); ++next) {
    Value value = open[next];
    Operation *maker = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (served.contains(argument))
        continue;
      Value update = autonomous.getNextValue(argument);
      if (!autonomous.contains(argument))
        work.pushes.insert(argument);
      else if (update)
        work.own.insert(argument);
      else
        work.copies.insert(argument);
      if (work.own.contains(argument))
        open.insert(update);
    } else if (!autonomous.contains(maker) && (!applied.contains(maker) || pushed.contains(maker) ||
                                               isCommon(maker) || readsOthers(maker, leader))) {
      work.pushes.insert(value);
    } else {
      work.ops.insert(maker);
      open.insert_range(getUsedValues(maker));
      auto carry = dyn_cast<LoopCarryOp>(maker);
      if (LoopLastOp last = carry ? loops.getLast(carry) : LoopLastOp())
        open.insert(last.getResult());
    }
  }
  return work;
}

static int64_t sumElements(const SetVector<Value> &values) {
  return llvm::sum_of(llvm::map_range(values, countElements), int64_t(0));
}

/// Whether a number that leads to several groups is pushed no more, nothing else is but what `op` makes of
/// it, and that is less. It must be as large as what it is made of: the square of a sum over workers is no
/// sum of squares.
bool StepSplit::saves(const ServerWork &before, const ServerWork &after, Operation *op) const {
  bool hasNumber = false;
  int64_t largest = 0;
  for (Value push : before.pushes)
    if (!after.pushes.contains(push)) {
      hasNumber |= countElements(push) == 1;
      largest = std::max(largest, countElements(push));
    }
  return hasNumber && sumElements(after.pushes) < sumElements(before.pushes) &&
         llvm::all_of(op->getResults(), [&](Value value) { return countElements(value) >= largest; });
}

/// The work of a group if workers do what joins a number with its gradient. The first op that saves most.
ServerWork StepSplit::absorb(unsigned leader) const {
  DenseSet<Operation *> pushed;
  ServerWork best = collect(leader);
  for (bool changed = true; changed && best.pushes.size() > 1;) {
    changed = false;
    Operation *taken = nullptr;
    ServerWork before = best;
    for (Operation &op : body.without_terminator()) {
      if (!before.ops.contains(&op) || !ofGradients.contains(&op))
        continue;
      DenseSet<Operation *> tried = pushed;
      tried.insert(&op);
      ServerWork work = collect(leader, tried);
      if (saves(before, work, &op) && sumElements(work.pushes) < sumElements(best.pushes)) {
        best = std::move(work);
        taken = &op;
      }
    }
    changed = taken != nullptr;
    if (taken)
      pushed.insert(taken);
  }
  return best;
}

/// The largest of the states that workers read, or of all if they read none; the first of equal ones.
BlockArgument StepSplit::findParameter(ArrayRef<BlockArgument> states) const {
  auto isLess = [&](BlockArgument a, BlockArgument b) {
    return std::pair(pulled.contains(a), countElements(a)) < std::pair(pulled.contains(b), countElements(b));
  };
  return *llvm::max_element(states, isLess);
}

LogicalResult StepSplit::collectGroups() {
  for (unsigned leader : getLeaders()) {
    SmallVector<BlockArgument> states = getStates(leader);
    groups.push_back({leader, findParameter(states), states, absorb(leader)});
  }
  llvm::sort(groups, [](const ServerGroup &a, const ServerGroup &b) {
    return a.parameter.getArgNumber() < b.parameter.getArgNumber();
  });
  for (auto [number, made] : llvm::enumerate(groups)) {
    if (failed(verify(made)))
      return failure();
    SmallVector<Value> sorted(made.work.pushes.getArrayRef());
    sortByPlace(sorted);
    for (Value push : sorted)
      pushes[push].push_back(int64_t(number));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The work of workers
//===----------------------------------------------------------------------===//

/// Adds what a value is made of, and the next value of a state that workers read.
void StepSplit::need(Value value, SmallVectorImpl<Value> &open) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value next = served.contains(argument) ? Value() : nextValues.lookup(argument);
    if (next && kept.insert(argument).second)
      open.push_back(next);
    return;
  }
  Operation *maker = value.getDefiningOp();
  if (!needed.insert(maker).second)
    return;
  llvm::append_range(open, getUsedValues(maker));
  auto carry = dyn_cast<LoopCarryOp>(maker);
  if (LoopLastOp last = carry ? loops.getLast(carry) : LoopLastOp())
    open.push_back(last.getResult());
}

LogicalResult StepSplit::findNeeded() {
  SmallVector<Value> open;
  for (const auto &[push, numbers] : pushes)
    open.push_back(push);
  auto hasCopy = [&](BlockArgument state) {
    return llvm::any_of(groups, [&](const ServerGroup &made) { return made.work.own.contains(state); });
  };
  for (OpOperand &use : body.getTerminator()->getOpOperands()) {
    BlockArgument state = getUpdatedArgument(step, use.getOperandNumber());
    if (!state)
      open.push_back(use.get());
    else if (!served.contains(state) && !hasCopy(state))
      open.push_back(state);
  }
  while (!open.empty())
    need(open.pop_back_val(), open);
  return verifyNeeded();
}

/// Workers have no new value of a parameter in the step that makes it.
LogicalResult StepSplit::verifyNeeded() const {
  auto isMissing = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return maker && needed.contains(maker) && !computable.contains(maker);
  };
  for (Operation &op : body.without_terminator())
    if (needed.contains(&op) && !applied.contains(&op) && llvm::any_of(getUsedValues(&op), isMissing))
      return op.emitError()
             << "this depends on what servers make of gradients in the same step, expected work "
                "of workers to read states as the step begins: they have new ones in the next";
  for (OpOperand &use : body.getTerminator()->getOpOperands()) {
    unsigned result = use.getOperandNumber();
    BlockArgument state = getUpdatedArgument(step, result);
    if (isMissing(use.get()) && !(state && served.contains(state)))
      return emitError(use.get().getLoc()) << "result \"" << getResultName(step, result)
                                           << "\" depends on what servers make of gradients in the same "
                                              "step, expected results of states as "
                                              "the step begins: workers have new ones in the next";
  }
  return success();
}

Operation *StepSplit::findMixing() const {
  auto isGradient = [&](Value value) { return countElements(value) > 1 && !autonomous.contains(value); };
  for (Operation &op : body.without_terminator())
    if (needed.contains(&op) && isCommon(&op) && llvm::any_of(getUsedValues(&op), isGradient))
      return &op;
  return nullptr;
}
