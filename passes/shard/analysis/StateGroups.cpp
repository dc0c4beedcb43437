//===- StateGroups.cpp - States that are updated together -----------------===//

#include "passes/shard/analysis/StateGroups.h"

#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"

using namespace mlir;
using namespace mlir::epl;

int64_t mlir::epl::countElements(Value value) {
  if (auto dist = dyn_cast<DistType>(value.getType()))
    return dist.getGlobal().getNumElements();
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? tensor.getNumElements() : 1;
}

StateGroups::StateGroups(func::FuncOp function, ArrayRef<unsigned> results,
                         function_ref<bool(Operation &)> isFollowed,
                         function_ref<bool(const llvm::BitVector &)> mayJoin)
    : function(function), body(function.front()), loops(body), results(results) {
  for (auto [position, result] : llvm::enumerate(results)) {
    positions[result] = position;
    classes.insert(result);
  }
  findTensors();
  for (bool changed = true; changed;) { // more than once where a loop carries what an op leads to
    changed = false;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isFollowed(op))
        changed |= connect(op, mayJoin) && loops.getLoop(&op);
  }
}

/// Follows tensors from arguments on.
void StateGroups::findTensors() {
  auto add = [&](Value value) {
    if (countElements(value) > 1)
      tensors.insert(value);
  };
  llvm::for_each(body.getArguments(), add);
  for (Operation &op : body.without_terminator())
    if (llvm::any_of(getUsedValues(&op), [&](Value value) { return tensors.contains(value); }))
      llvm::for_each(op.getResults(), add);
}

bool StateGroups::makesTensor(Operation &op) const {
  return llvm::any_of(op.getResults(), [&](Value value) { return tensors.contains(value); });
}

bool StateGroups::isSmall(const llvm::BitVector &which) const {
  return llvm::all_of(which.set_bits(), [&](unsigned index) {
    return countElements(getUpdatedArgument(function, results[index])) == 1;
  });
}

/// What the readers of an op's results lead to, in later iterations of its loop as well.
StateGroups::Leads StateGroups::collect(Operation &op) const {
  Leads found{llvm::BitVector(results.size()), llvm::BitVector(results.size())};
  auto add = [&](const Leads &next) {
    found.all |= next.all;
    found.byTensors |= next.byTensors;
    found.others |= next.others;
  };
  for (OpOperand &use : op.getUses()) {
    Operation *user = body.findAncestorOpInBlock(*use.getOwner());
    auto position = positions.find(use.getOperandNumber());
    if (isa<func::ReturnOp>(user) && position != positions.end()) {
      found.all.set(position->second);
      found.byTensors.set(position->second);
    } else if (const Leads *next = getLeads(user)) {
      add(*next);
    } else {
      found.others = true;
    }
  }
  auto last = dyn_cast<LoopLastOp>(op);
  LoopCarryOp carry = last ? loops.getCarry(last) : LoopCarryOp();
  if (const Leads *next = carry ? getLeads(carry) : nullptr)
    add(*next);
  return found;
}

/// Joins the states that an op leads to by tensors. Whether more is known of it than before.
bool StateGroups::connect(Operation &op, function_ref<bool(const llvm::BitVector &)> mayJoin) {
  Leads found = collect(op);
  if (!makesTensor(op) && (found.others || !isSmall(found.all) || !mayJoin(found.all)))
    found.byTensors.reset();
  int first = found.byTensors.find_first();
  for (unsigned index : found.byTensors.set_bits())
    classes.unionSets(results[first], results[index]);
  Leads &known = leads[&op];
  bool changed = known.all != found.all || known.byTensors != found.byTensors || known.others != found.others;
  known = std::move(found);
  return changed;
}
