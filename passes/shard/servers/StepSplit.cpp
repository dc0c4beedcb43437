//===- StepSplit.cpp - What of a step workers do, and what servers --------===//

#include "passes/shard/servers/StepSplit.h"

#include "passes/shard/analysis/AppliedWork.h"
#include "passes/shard/analysis/Describe.h"
#include "passes/shard/analysis/Rules.h"

using namespace mlir;
using namespace mlir::epl;

std::string mlir::epl::getArgumentName(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  auto name = function.getArgAttrOfType<StringAttr>(index, EplDialect::kNameAttr);
  return name ? name.getValue().str() : "argument " + std::to_string(index);
}

void mlir::epl::sortByPlace(MutableArrayRef<Value> values) {
  llvm::sort(values, [](Value a, Value b) {
    auto left = dyn_cast<BlockArgument>(a), right = dyn_cast<BlockArgument>(b);
    if (left || right)
      return left && (!right || left.getArgNumber() < right.getArgNumber());
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    return first == second ? cast<OpResult>(a).getResultNumber() < cast<OpResult>(b).getResultNumber()
                           : first->isBeforeInBlock(second);
  });
}

StepSplit::StepSplit(func::FuncOp step)
    : step(step), body(step.front()), loops(body), autonomous(step), applied(findAppliedWork(step)) {}

FailureOr<std::unique_ptr<StepSplit>> StepSplit::create(func::FuncOp step, bool withTables) {
  std::unique_ptr<StepSplit> split(new StepSplit(step));
  split->findServed();
  do
    split->group();
  while (split->dropGroups());
  if (split->served.empty() && !withTables)
    return step.emitError() << "updates no state by work that applies gradients (epl.work), expected one for "
                               "servers to hold";
  split->findPulled();
  split->findComputable();
  split->findOfGradients();
  if (failed(split->collectGroups()) || failed(split->findNeeded()))
    return failure();
  return split;
}

//===----------------------------------------------------------------------===//
// Which states servers hold
//===----------------------------------------------------------------------===//

/// Those that work which applies gradients makes anew, and those that become one of these.
void StepSplit::findServed() {
  for (OpOperand &use : body.getTerminator()->getOpOperands()) {
    BlockArgument state = getUpdatedArgument(step, use.getOperandNumber());
    if (!state)
      continue;
    nextValues[state] = use.get();
    Operation *maker = use.get().getDefiningOp();
    if (!autonomous.contains(state) && maker && isFollowed(*maker))
      served[state] = use.getOperandNumber();
  }
  for (OpOperand &use : body.getTerminator()->getOpOperands()) {
    BlockArgument state = getUpdatedArgument(step, use.getOperandNumber());
    auto next = dyn_cast<BlockArgument>(use.get());
    if (state && next && state != next && served.contains(next))
      served[state] = use.getOperandNumber();
  }
}

/// The group of a state that servers hold; none of other values.
std::optional<unsigned> StepSplit::getLeader(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  const auto *found = argument ? served.find(argument) : served.end();
  return found == served.end() ? std::nullopt : std::optional(classes->find(found->second));
}

void StepSplit::group() {
  SmallVector<unsigned> results;
  for (auto [state, result] : served)
    results.push_back(result);
  classes = std::make_unique<StateGroups>(
      step, results, [&](Operation &op) { return isFollowed(op); },
      [](const llvm::BitVector &) { return true; });
  joinReaders();
}

/// A state whose elements the new value of another one is made of is of that one's group.
void StepSplit::joinReaders() {
  for (Operation &op : body.without_terminator()) {
    const StateGroups::Leads *leads = classes->getLeads(&op);
    if (!leads || leads->byTensors.none() || !classes->makesTensor(op))
      continue;
    unsigned result = classes->getResults()[leads->byTensors.find_first()];
    for (Value value : getUsedValues(&op))
      if (std::optional<unsigned> leader = getLeader(value); leader && countElements(value) > 1)
        classes->join(result, *leader);
  }
  for (auto [state, result] : served)
    if (std::optional<unsigned> leader = getLeader(nextValues.lookup(state)))
      classes->join(result, *leader);
  for (auto [result, other] : joined)
    classes->join(result, other);
}

/// A result of the one other group whose updates have numbers in common with those of a group; none if there
/// are several.
std::optional<unsigned> StepSplit::findPartner(unsigned leader) const {
  llvm::SmallDenseSet<unsigned> partners;
  for (Operation &op : body.without_terminator()) {
    const StateGroups::Leads *leads = classes->getLeads(&op);
    if (!leads)
      continue;
    llvm::SmallDenseSet<unsigned> led;
    for (unsigned index : leads->all.set_bits())
      led.insert(classes->find(classes->getResults()[index]));
    if (led.contains(leader) ||
        llvm::any_of(getUsedValues(&op), [&](Value value) { return getLeader(value) == leader; }))
      partners.insert(led.begin(), led.end());
  }
  partners.erase(leader);
  return partners.size() == 1 ? std::optional(*partners.begin()) : std::nullopt;
}

/// Of each group one, in the order of the step's results.
SmallVector<unsigned> StepSplit::getLeaders() const {
  llvm::SetVector<unsigned> leaders;
  for (auto [state, result] : served)
    leaders.insert(classes->find(result));
  return leaders.takeVector();
}

SmallVector<BlockArgument> StepSplit::getStates(unsigned leader) const {
  SmallVector<BlockArgument> states;
  for (auto [state, result] : served)
    if (classes->find(result) == leader)
      states.push_back(state);
  llvm::sort(states, [](BlockArgument a, BlockArgument b) { return a.getArgNumber() < b.getArgNumber(); });
  return states;
}

/// Whether a group has a gradient of its own. Numbers that are made of those of other groups, or of truth
/// values, are workers' states: the scale of a loss, say.
bool StepSplit::isOfServers(unsigned leader, const ServerWork &work) const {
  bool hasTensors = llvm::any_of(getStates(leader), [](Value state) { return countElements(state) > 1; });
  return llvm::any_of(work.pushes, [&](Value push) {
    Operation *maker = push.getDefiningOp();
    bool isOwn = isa<FloatType>(getElementTypeOrSelf(push)) && !(maker && applied.contains(maker));
    return hasTensors || isOwn;
  });
}

/// Joins groups of which that does not hold with the one whose gradient they are made of, such as the norm of
/// each gradient that NovoGrad keeps; leaves them to workers if there are several. Whether there are such.
bool StepSplit::dropGroups() {
  llvm::SmallDenseSet<unsigned> dropped;
  for (unsigned leader : getLeaders()) {
    if (isOfServers(leader, collect(leader)))
      continue;
    if (std::optional<unsigned> partner = findPartner(leader)) {
      joined.push_back({leader, *partner});
      return true;
    }
    dropped.insert(leader);
  }
  served.remove_if([&](const auto &state) { return dropped.contains(classes->find(state.second)); });
  return !dropped.empty();
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

/// Workers can make what a group gets, once in a step, and servers can take the mean of it.
LogicalResult StepSplit::verify(const ServerGroup &made) const {
  for (Value push : made.work.pushes) {
    Operation *maker = push.getDefiningOp();
    Location place = maker ? maker->getLoc() : push.getLoc();
    std::string name = getArgumentName(made.parameter);
    if (maker && applied.contains(maker) && !computable.contains(maker))
      return failMixing(maker, made);
    if (loops.getLoop(push))
      return emitError(place) << "the update of \"" << name
                              << "\" reads this in each iteration of a loop, expected gradients that are "
                                 "whole: workers push them once in a step";
    if (getElementTypeOrSelf(push).isInteger(1))
      return emitError(place) << "the update of \"" << name
                              << "\" depends on this truth value, which workers make: servers take means "
                                 "over workers, expected a number";
  }
  return success();
}

/// At `op`, whose value a group reads: it is made of a state that servers alone have.
LogicalResult StepSplit::failMixing(Operation *op, const ServerGroup &made) const {
  BlockArgument other;
  SetVector<Value> open;
  open.insert_range(getUsedValues(op));
  for (size_t next = 0; next < open.size(); ++next) {
    auto argument = dyn_cast<BlockArgument>(open[next]);
    bool isElsewhere = other && getLeader(other) != made.leader;
    if (argument && served.contains(argument) && !isElsewhere)
      other = argument;
    if (Operation *maker = open[next].getDefiningOp(); maker && !computable.contains(maker))
      open.insert_range(getUsedValues(maker));
  }
  return op->emitError() << "the update of \"" << getArgumentName(made.parameter)
                         << "\" reads what this makes of \"" << getArgumentName(other)
                         << "\", a state of another update: servers update each parameter by itself, "
                            "expected to mix none but gradients (a norm of all), which workers do";
}
