//===- AffectedOps.cpp - Where two propagations are placed differently ----===//

#include "passes/shard/analysis/AffectedOps.h"

using namespace mlir;
using namespace mlir::epl;

AffectedOps::AffectedOps(const FunctionRules &rules, const Propagation &before, const Propagation &after)
    : rules(rules), affected(rules.getOps().size()) {
  SmallVector<Operation *> open;
  Propagation::Changes changes = after.compare(before);
  for (Operation *op : changes.ops)
    add(rules.getPosition(op), open);
  for (Value value : changes.values) {
    addAround(value, open);
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (Value update = rules.getUpdate(argument))
        addAround(update, open);
  }
  for (const AssumedConstraints::Constraint &constraint : after.getAssumed().get())
    addAround(constraint.value, open);
  auto follow = [&](Value value) {
    if (isPending(value, [&](Value each) { return after.getState(each); }) ||
        isPending(value, [&](Value each) { return before.getState(each); }))
      addAround(value, open);
  };
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    llvm::for_each(op->getOperands(), follow);
    llvm::for_each(op->getResults(), follow);
    for (OpOperand *captured : rules.getCapturedTensors(op))
      follow(captured->get());
  }
  for (unsigned position : affected.set_bits())
    ops.push_back(rules.getOps()[position]);
}

void AffectedOps::add(unsigned position, SmallVectorImpl<Operation *> &open) {
  if (affected.test(position))
    return;
  affected.set(position);
  open.push_back(rules.getOps()[position]);
}

/// Adds the ops that make a value or read it.
void AffectedOps::addAround(Value value, SmallVectorImpl<Operation *> &open) {
  if (std::optional<unsigned> maker = rules.findPosition(value.getDefiningOp()))
    add(*maker, open);
  else
    arguments.insert(value);
  if (std::optional<unsigned> number = rules.getNumber(value))
    for (unsigned reader : rules.getReaders(*number))
      add(reader, open);
}
