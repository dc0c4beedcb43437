//===- Carries.cpp - Carried values that are replaced ---------------------===//

#include "dialect/Carries.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

static bool isView(Operation *op) {
  return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

Value mlir::epl::followViews(Value value) {
  while (value.hasOneUse() && isView(*value.user_begin()))
    value = value.user_begin()->getResult(0);
  return value;
}

/// What a task yields of a value that is read once, by the yield, reshaped or not; null if it is none.
static OpResult getYielded(Value value) {
  value = followViews(value);
  auto yield = value.hasOneUse() ? dyn_cast<YieldOp>(*value.user_begin()) : YieldOp();
  auto task = yield ? dyn_cast<TaskOp>(yield->getParentOp()) : TaskOp();
  return task ? cast<OpResult>(task.getResult(value.use_begin()->getOperandNumber())) : OpResult();
}

LoopCarryOp mlir::epl::getReplacedCarry(Value before, Value after) {
  while (before.hasOneUse() && isView(before.getDefiningOp()))
    before = before.getDefiningOp()->getOperand(0);
  OpResult made = getYielded(after);
  auto argument = dyn_cast<BlockArgument>(before);
  if (!argument || !argument.hasOneUse() || !made || !made.hasOneUse() ||
      argument.getOwner()->getParentOp() != made.getOwner() ||
      made.getOwner()->hasAttr(EplDialect::kGuardsAttr))
    return {};
  Value read = cast<TaskOp>(made.getOwner()).getInputs()[argument.getArgNumber()];
  auto carry = read.getDefiningOp<LoopCarryOp>();
  auto last = dyn_cast<LoopLastOp>(*made.user_begin());
  bool isNext = carry && last && carry->hasOneUse() && carry.getLoop() == last.getLoop() &&
                carry.getIndex() == last.getIndex();
  return isNext ? carry : LoopCarryOp();
}
