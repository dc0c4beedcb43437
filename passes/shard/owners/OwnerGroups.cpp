//===- OwnerGroups.cpp - What of the optimizer belongs together -----------===//

#include "passes/shard/owners/OwnerGroups.h"

#include "dialect/Sharding.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/tasks/TaskPartition.h"

using namespace mlir;
using namespace mlir::epl;

static bool mentions(ShardingAttr sharding, StringRef axis) {
  return sharding && (sharding.getDimOf(axis) >= 0 || llvm::is_contained(sharding.getPartialAxes(), axis));
}

/// The results that update a state.
static SmallVector<unsigned> getUpdates(func::FuncOp function) {
  return llvm::filter_to_vector(llvm::seq(function.getNumResults()), [&](unsigned result) {
    return getUpdatedArgument(function, result) != nullptr;
  });
}

OwnerGroups::OwnerGroups(func::FuncOp function, MeshOp mesh, StringRef axis)
    : function(function), body(function.front()), loops(body), axis(axis), results(getUpdates(function)),
      classes(
          function, results, [&](Operation &op) { return isCandidate(op); },
          [&](const llvm::BitVector &which) { return mayHaveOneOwner(which); }) {
  for (auto [position, op] : llvm::enumerate(body))
    positions[&op] = int64_t(position);
  assign();
  collect();
  findHeld();
}

//===----------------------------------------------------------------------===//
// Which ops may have an owner
//===----------------------------------------------------------------------===//

/// Whether members on the axis have parts or addends of the value.
bool OwnerGroups::mentionsAxis(Value value) const {
  if (auto dist = dyn_cast<DistType>(value.getType()))
    return mentions(dist.getSharding(), axis);
  if (auto cast = value.getDefiningOp<ToLocalOp>())
    return mentionsAxis(cast.getOperand());
  if (auto index = value.getDefiningOp<AxisIndexOp>())
    return index.getAxis() == axis;
  return isa<RankedTensorType>(value.getType()) && mentions(getSharding(value), axis);
}

/// Whether one member could do the op for all: a cast, or work that applies gradients, done once in a step
/// and the same on all members of the axis.
bool OwnerGroups::isCandidate(Operation &op) const {
  if (loops.getLoop(&op) || getEdgeLoop(&op) || isa<PredicateOp, TaskOp>(op))
    return false;
  auto isMade = [](Value value) { return !isa<BlockArgument>(skipCasts(value)); };
  if (isCast(&op) ? !isMade(op.getOperand(0)) : getWorkKind(&op) != WorkKind::apply)
    return false;
  return llvm::none_of(op.getResults(), [&](Value value) { return mentionsAxis(value); }) &&
         llvm::none_of(getUsedValues(&op), [&](Value value) { return mentionsAxis(value); });
}

//===----------------------------------------------------------------------===//
// Which states belong together
//===----------------------------------------------------------------------===//

/// Whether no two of these states are said to have different owners.
bool OwnerGroups::mayHaveOneOwner(const llvm::BitVector &which) const {
  std::optional<int64_t> owner;
  for (unsigned index : which.set_bits()) {
    BlockArgument argument = getUpdatedArgument(function, results[index]);
    auto said =
        func::FuncOp(function).getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), EplDialect::kOwnerAttr);
    if (said && owner.value_or(said.getInt()) != said.getInt())
      return false;
    if (said)
      owner = said.getInt();
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Which work is a group's alone
//===----------------------------------------------------------------------===//

/// Whether a tensor is, as it is, the new value of a state.
bool OwnerGroups::isNewValue(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<FromLocalOp>(user) && leaders.contains(user) &&
           llvm::any_of(user->getUses(), [](OpOperand &use) { return isa<func::ReturnOp>(use.getOwner()); });
  });
}

/// The class whose work alone reads a value; what else reads a new value gets it from the owner.
std::optional<unsigned> OwnerGroups::findCommonGroup(Value value) const {
  std::optional<unsigned> common;
  bool isNew = isNewValue(value);
  for (OpOperand &use : value.getUses()) {
    Operation *user = body.findAncestorOpInBlock(*use.getOwner());
    std::optional<unsigned> group;
    if (isa<func::ReturnOp>(user)) {
      if (getUpdatedArgument(function, use.getOperandNumber()))
        group = classes.find(use.getOperandNumber());
    } else if (auto leader = leaders.find(user); leader != leaders.end()) {
      group = leader->second;
    }
    if (!group && isNew)
      continue;
    if (!group || (common && *common != *group))
      return std::nullopt;
    common = group;
  }
  return common;
}

std::optional<unsigned> OwnerGroups::findCommonGroup(Operation &op) const {
  std::optional<unsigned> common;
  for (Value result : op.getResults()) {
    if (result.use_empty())
      continue;
    std::optional<unsigned> group = findCommonGroup(result);
    if (!group || (common && *common != *group))
      return std::nullopt;
    common = group;
  }
  return common;
}

void OwnerGroups::assign() {
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (isCandidate(op))
      if (std::optional<unsigned> leader = findCommonGroup(op))
        leaders[&op] = *leader;
  // What stands on distributed values is the owner's only if the values are.
  for (Operation &op : body.without_terminator())
    if ((isCast(&op) || standsBetweenTasks(&op)) &&
        !llvm::all_of(op.getOperands(), [&](Value value) { return isOwned(value); }))
      leaders.erase(&op);
}

/// Whether only members of one group have a value, or will have: a sum of which they complete their own.
bool OwnerGroups::isOwned(Value value) const {
  Operation *maker = value.getDefiningOp();
  auto sum = dyn_cast_or_null<AllReduceOp>(maker);
  return maker && (leaders.contains(maker) || (sum && findReader(sum)));
}

/// The class whose work alone reads a sum over the axis.
std::optional<unsigned> OwnerGroups::findReader(AllReduceOp sum) const {
  std::optional<unsigned> common;
  for (Operation *user : sum.getResult(0).getUsers()) {
    auto leader = isa<ToLocalOp>(user) ? leaders.find(user) : leaders.end();
    if (leader == leaders.end() || (common && *common != leader->second))
      return std::nullopt;
    common = leader->second;
  }
  return llvm::is_contained(sum.getReducedAxes(), axis) && !loops.getLoop(sum) ? common : std::nullopt;
}

/// Whether an op makes what a group's gradient may be: a tensor, or for states that are numbers no constant.
bool OwnerGroups::makesGradient(Operation *op, bool isOfNumbers) const {
  return isOfNumbers ? !isFree(op) && !isa<AxisIndexOp>(op) : classes.makesTensor(*op);
}

/// What `epl.owner` of the state that a result updates says.
static std::optional<int64_t> getSaidOwner(func::FuncOp function, unsigned result) {
  unsigned state = getUpdatedArgument(function, result).getArgNumber();
  auto owner = function.getArgAttrOfType<IntegerAttr>(state, EplDialect::kOwnerAttr);
  return owner ? std::optional(owner.getInt()) : std::nullopt;
}

/// The same for the first state of a class that has it.
std::optional<int64_t> OwnerGroups::findSaidOwner(unsigned leader) const {
  for (unsigned result : results)
    if (auto owner = classes.find(result) == leader ? getSaidOwner(function, result) : std::nullopt)
      return owner;
  return std::nullopt;
}

/// Makes a group of each class whose work reads a gradient, or that has an owner by what its states say.
void OwnerGroups::collect() {
  llvm::MapVector<unsigned, Operation *> gradients; // by leader
  for (Operation &op : body.without_terminator()) {
    auto leader = leaders.find(&op);
    if (leader == leaders.end())
      continue;
    llvm::BitVector own(results.size());
    for (auto [index, result] : llvm::enumerate(results))
      if (classes.find(result) == leader->second)
        own.set(index);
    Operation *&last = gradients[leader->second];
    for (Value value : getUsedValues(&op))
      if (Operation *maker = skipCasts(value).getDefiningOp();
          maker && !leaders.contains(maker) && makesGradient(maker, classes.isSmall(own)))
        last = last && positions.at(last) > positions.at(maker) ? last : maker;
  }
  gradients.remove_if([&](const auto &each) { return !each.second && !findSaidOwner(each.first); });
  auto order = gradients.takeVector();
  auto key = [&](const auto &each) { // where two groups have one gradient, the order of their results
    const auto *first =
        llvm::find_if(results, [&](unsigned result) { return classes.find(result) == each.first; });
    return std::pair(each.second ? positions.at(each.second) : -1, *first);
  };
  llvm::sort(order, [&](const auto &a, const auto &b) { return key(a) < key(b); });
  for (auto [leader, gradient] : order) {
    numbers[leader] = groups.size();
    groups.push_back({{}, gradient, findSaidOwner(leader), 0});
  }
  for (unsigned result : results)
    if (auto number = numbers.find(classes.find(result)); number != numbers.end() && getNewValue(result))
      groups[number->second].results.push_back(result);
}

/// The number of the group that a class is; nothing if it is none.
std::optional<unsigned> OwnerGroups::toGroup(std::optional<unsigned> leader) const {
  auto number = leader ? numbers.find(*leader) : numbers.end();
  return number == numbers.end() ? std::nullopt : std::optional(number->second);
}

std::optional<unsigned> OwnerGroups::getGroup(Operation *op) const {
  auto leader = leaders.find(op);
  return toGroup(leader == leaders.end() ? std::nullopt : std::optional(leader->second));
}

std::optional<unsigned> OwnerGroups::getReader(AllReduceOp sum) const { return toGroup(findReader(sum)); }

Value OwnerGroups::getNewValue(unsigned result) const {
  auto cast = body.getTerminator()->getOperand(result).getDefiningOp<FromLocalOp>();
  Operation *maker = cast ? cast.getOperand().getDefiningOp() : nullptr;
  return maker && getGroup(maker) ? cast.getOperand() : Value();
}

/// Finds the states that only owners read, and counts the elements of the others.
void OwnerGroups::findHeld() {
  for (auto [number, group] : llvm::enumerate(groups)) {
    auto isOfGroup = [&, number = unsigned(number)](Operation *user) {
      return getGroup(body.findAncestorOpInBlock(*user)) == number;
    };
    auto isReadByGroup = [&](Operation *user) {
      return isa<ToLocalOp>(user) && llvm::all_of(user->getUsers(), isOfGroup);
    };
    int64_t all = 0;
    for (unsigned result : group.results) {
      BlockArgument state = getUpdatedArgument(function, result);
      bool isHeld = llvm::all_of(state.getUsers(), isReadByGroup) &&
                    llvm::all_of(getNewValue(result).getUsers(), isOfGroup);
      if (isHeld)
        heldByOwner.insert(result);
      else
        group.numElements += countElements(state);
      all += countElements(state);
    }
    if (group.numElements == 0)
      group.numElements = all;
  }
}
