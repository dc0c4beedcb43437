//===- SimplifyGenerics.cpp - Generics that do no more than they must -----===//
//
// Problem: lowering to linalg leaves reductions of dimensions of extent 1 (JAX makes two sums for the
// gradient of a bias) and initial values that no body reads; both would cost kernels and operands. Method:
// such a reduction from a neutral start is a reshape, which is free; the other starts are emptied. Adding 0.0
// turns -0.0 into 0.0; the reshape does not.
//
// In: task bodies of flat ops. Out: the same values.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace mlir::epl {
#define GEN_PASS_DEF_SIMPLIFYGENERICS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

/// Whether combining `start` with a value by `combiner` gives that value.
bool isNeutral(Operation *combiner, Attribute start) {
  if (auto number = dyn_cast_or_null<FloatAttr>(start); number && isa<arith::AddFOp>(combiner))
    return number.getValue().isZero();
  std::optional<TypedAttr> neutral = arith::getNeutralElement(combiner);
  return neutral && *neutral == start;
}

/// Whether the op reduces only extents of 1, one input as it is, from a neutral start.
bool isUnitReduction(GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1)
    return false;
  for (auto [extent, type] : llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
    if (type == utils::IteratorType::reduction && extent != 1)
      return false;
  SmallVector<Operation *> combiners;
  Value reduced = matchReduction(op.getRegionOutputArgs(), 0, combiners);
  return reduced == op.getBody()->getArgument(0) && combiners.size() == 1 &&
         isNeutral(combiners[0], getFillValue(op.getDpsInits()[0]));
}

/// Whether input and result have their dimensions in the same order, extents of 1 aside.
bool keepsOrder(GenericOp op) {
  auto getDims = [&](AffineMap map) {
    SmallVector<AffineExpr> dims(map.getResults());
    llvm::erase_if(dims, [&](AffineExpr expr) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      return !dim || op.getStaticLoopRanges()[dim.getPosition()] == 1;
    });
    return dims;
  };
  return getDims(op.getIndexingMapsArray()[0]) == getDims(op.getIndexingMapsArray()[1]);
}

/// Whether the op copies its input to a result of as many elements: no more than extents of 1 can change.
bool isReshapingCopy(GenericOp op) {
  auto from = op.getNumDpsInputs() == 1 ? dyn_cast<RankedTensorType>(op.getInputs()[0].getType()) : nullptr;
  return from && isBroadcast(op) &&
         from.getNumElements() == cast<ShapedType>(op.getResultTypes()[0]).getNumElements();
}

/// `input` with the shape of `to`, by one free op at most; null if that takes more.
Value reshape(OpBuilder &builder, Location loc, Value input, RankedTensorType to) {
  auto from = cast<RankedTensorType>(input.getType());
  if (from == to)
    return input;
  auto reassociation = getReassociationIndicesForReshape(from, to);
  if (!reassociation)
    return {};
  return from.getRank() > to.getRank()
             ? builder.createOrFold<tensor::CollapseShapeOp>(loc, to, input, *reassociation)
             : builder.createOrFold<tensor::ExpandShapeOp>(loc, to, input, *reassociation);
}

/// Replaces what only reshapes by a reshape.
bool foldToReshape(GenericOp op) {
  if (!isReshapingCopy(op) && !(isUnitReduction(op) && keepsOrder(op)))
    return false;
  OpBuilder builder(op);
  Value reshaped =
      reshape(builder, op.getLoc(), op.getInputs()[0], cast<RankedTensorType>(op.getResult(0).getType()));
  if (!reshaped)
    return false;
  op.getResult(0).replaceAllUsesWith(reshaped);
  op.erase();
  return true;
}

/// What the body does not read need not be made.
void emptyUnreadInits(GenericOp op) {
  OpBuilder builder(op);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    auto type = cast<RankedTensorType>(init.get().getType());
    if (op.getMatchingBlockArgument(&init).use_empty() && !init.get().getDefiningOp<tensor::EmptyOp>())
      init.set(tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(), type.getElementType()));
  }
}

struct SimplifyGenericsPass : epl::impl::SimplifyGenericsBase<SimplifyGenericsPass> {
  void runOnOperation() override {
    getOperation().walk([](GenericOp op) {
      if (isa<TaskOp>(op->getParentOp()) && !foldToReshape(op))
        emptyUnreadInits(op);
    });
  }
};

} // namespace
