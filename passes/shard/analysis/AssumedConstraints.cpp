//===- AssumedConstraints.cpp - Constraints that no op says ---------------===//

#include "passes/shard/analysis/AssumedConstraints.h"

using namespace mlir;
using namespace mlir::epl;

using Constraint = AssumedConstraints::Constraint;

void AssumedConstraints::addForAll(Value value, AxisState state) {
  assert(!state.partial && "a constraint completes sums");
  bool isNew = forAll.try_emplace(value, constraints.size()).second;
  assert(isNew && "one for all uses of a value");
  (void)isNew;
  constraints.push_back({value, state, /*isForAll=*/true, {}});
}

void AssumedConstraints::addForUse(OpOperand &use, AxisState state) {
  assert(!state.partial && "a constraint completes sums");
  auto [known, isNew] = byState.try_emplace({use.get(), state.dim}, constraints.size());
  if (isNew)
    constraints.push_back({use.get(), state, /*isForAll=*/false, {}});
  constraints[known->second].single.push_back(&use);
  single[&use] = known->second;
}

const Constraint *AssumedConstraints::getForAll(Value value) const {
  auto known = forAll.find(value);
  return known == forAll.end() ? nullptr : &constraints[known->second];
}

const Constraint *AssumedConstraints::getSingle(OpOperand &use) const {
  auto known = single.find(&use);
  return known == single.end() ? nullptr : &constraints[known->second];
}

const Constraint *AssumedConstraints::getNearest(OpOperand &use) const {
  const Constraint *own = getSingle(use);
  return own ? own : getForAll(use.get());
}

bool AssumedConstraints::reaches(OpOperand &use, const Constraint *source) const {
  if (!source)
    return true;
  return source->isForAll ? source->value == use.get() : getSingle(use) == source;
}

const Constraint *AssumedConstraints::getNext(OpOperand &use, const Constraint *source) const {
  assert(reaches(use, source) && "it reads what the source makes");
  if (source)
    return source->isForAll ? getSingle(use) : nullptr;
  const Constraint *all = getForAll(use.get());
  return all ? all : getSingle(use);
}
