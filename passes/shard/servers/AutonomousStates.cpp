//===- AutonomousStates.cpp - States that follow from themselves ----------===//

#include "passes/shard/servers/AutonomousStates.h"

#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Rules.h"

using namespace mlir;
using namespace mlir::epl;

bool AutonomousStates::contains(Value value) const {
  Operation *maker = value.getDefiningOp();
  return maker ? ops.contains(maker) : arguments.contains(value);
}

/// What is made of `arguments` alone; nothing of a loop, whose copies would be long.
void AutonomousStates::collect(Block &body, const Loops &loops) {
  ops.clear();
  for (Operation &op : body.without_terminator())
    if (!loops.getLoop(&op) && llvm::all_of(getUsedValues(&op), [&](Value value) { return contains(value); }))
      ops.insert(&op);
}

/// Begins with all states and drops those whose next value is made of something else, until none is.
AutonomousStates::AutonomousStates(func::FuncOp step) {
  Block &body = step.front();
  Loops loops(body);
  DenseMap<BlockArgument, Value> updates;
  for (OpOperand &use : body.getTerminator()->getOpOperands())
    if (BlockArgument state = getUpdatedArgument(step, use.getOperandNumber())) {
      updates[state] = use.get();
      arguments.insert(state);
      if (use.get() != state)
        nextValues[state] = use.get();
    }
  for (BlockArgument argument : body.getArguments())
    if (step.getArgAttr(argument.getArgNumber(), EplDialect::kHiddenAttr) && !isBatch(argument))
      arguments.insert(argument);
  for (bool changed = true; changed;) {
    changed = false;
    collect(body, loops);
    for (auto [state, next] : updates)
      if (!contains(next))
        changed |= arguments.erase(state);
  }
}
