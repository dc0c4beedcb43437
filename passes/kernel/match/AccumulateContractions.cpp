//===- AccumulateContractions.cpp - Products that add to what is carried ---------===//
//
// Problem: a loop that adds up gradients, of micro-batches or of layers, makes a product and then adds it to
// what it carries: each gradient is written, and read again, in every iteration.
// Method: a contraction that starts from zero, of which an addition makes the next value of what a loop
// carries, starts from the carried value instead, and the addition is gone. Nothing else may read the carried
// value, so that the product can be added to it where it lies (`getReplacedCarry`). The same summands are
// added in another order: what is exact stays equal bit by bit, floats differ in their rounding.
//
// In: task bodies of flat ops, contractions normalized. Out: the same, fewer additions.
//
//===----------------------------------------------------------------------===//

#include "dialect/Additions.h"
#include "dialect/Carries.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::epl {
#define GEN_PASS_DEF_ACCUMULATECONTRACTIONS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

/// Whether a contraction sums products of numbers, from zero on.
bool sumsFromZero(GenericOp op) {
  Operation *sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  Attribute fill = getFillValue(op.getDpsInits()[0]);
  auto integer = dyn_cast_or_null<IntegerAttr>(fill);
  auto number = dyn_cast_or_null<FloatAttr>(fill);
  return isa<arith::AddFOp, arith::AddIOp>(sum) &&
         ((integer && integer.getValue().isZero()) || (number && number.getValue().isZero()));
}

/// The reshapes of a result that nothing else reads, up to what reads the last one.
SmallVector<Operation *> getViews(Value value) {
  SmallVector<Operation *> views;
  while (value.hasOneUse() && getOpRole(*value.user_begin()) == OpRole::view) {
    views.push_back(*value.user_begin());
    value = views.back()->getResult(0);
  }
  return views;
}

/// `value`, of the type of the last of `views`, in the shape that they were made of.
Value undoViews(OpBuilder &builder, ArrayRef<Operation *> views, Value value) {
  for (Operation *view : llvm::reverse(views)) {
    Type type = view->getOperand(0).getType();
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(view))
      value = tensor::CollapseShapeOp::create(builder, view->getLoc(), cast<RankedTensorType>(type), value,
                                              expand.getReassociationIndices());
    else
      value = tensor::ExpandShapeOp::create(builder, view->getLoc(), type, value,
                                            cast<tensor::CollapseShapeOp>(view).getReassociationIndices());
  }
  return value;
}

/// Lets a contraction start from what is carried, if the only reader of its result adds it to that.
void accumulate(GenericOp op) {
  SmallVector<Operation *> views = getViews(op.getResult(0));
  Value made = views.empty() ? op.getResult(0) : views.back()->getResult(0);
  auto addition = made.hasOneUse() ? dyn_cast<GenericOp>(*made.user_begin()) : GenericOp();
  if (!addition || !isAddition(addition) || !sumsFromZero(op))
    return;
  Value carried = addition.getOperand(addition.getOperand(0) == made ? 1 : 0);
  if (!getReplacedCarry(carried, addition.getResult(0)))
    return;
  OpBuilder builder(op);
  op.getDpsInitsMutable()[0].set(undoViews(builder, views, carried));
  addition.getResult(0).replaceAllUsesWith(made);
  addition.erase();
}

struct AccumulateContractionsPass : epl::impl::AccumulateContractionsBase<AccumulateContractionsPass> {
  void runOnOperation() override {
    SmallVector<GenericOp> contractions;
    getOperation().walk([&](GenericOp op) {
      if (isContraction(op) && isa<TaskOp>(op->getParentOp()))
        contractions.push_back(op);
    });
    llvm::for_each(contractions, accumulate);
  }
};

} // namespace
