//===- WidenAccumulators.cpp - Reductions of narrow floats in f32 ----------------===//
//
// Problem: a sum in bf16 stops growing after 256 equal terms, and a bf16 matrix product is such a sum.
//
// Method: a reduction of bf16 or f16 becomes a reduction in f32 of the same terms, between a widening of its
// init and a rounding of its result. Code generation then finds the roundings of terms next to widenings and
// drops both.
//
// Invariant out: no reduction that is made of combiners has a result of fewer than 32 bits of float.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cluster/WidenAccumulators.h"

#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/cluster/Roots.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::epl;

static bool isNarrow(Value value) { return isNarrowFloat(value.getType()); }

// An elementwise op that converts `tensor` to elements of type `element`.
template <typename CastOp> static Value convert(ImplicitLocOpBuilder &b, Value tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(b, type.getShape(), element);
  auto op = linalg::GenericOp::create(b, empty.getType(), tensor, empty, ArrayRef{identity, identity},
                                      iterators, [&](OpBuilder &inner, Location loc, ValueRange arguments) {
                                        Value converted = CastOp::create(inner, loc, element, arguments[0]);
                                        linalg::YieldOp::create(inner, loc, converted);
                                      });
  return op.getResult(0);
}

static void widen(linalg::GenericOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Type wide = b.getF32Type();
  for (OpOperand &init : op.getDpsInitsMutable())
    if (isNarrow(init.get()))
      init.set(convert<arith::ExtFOp>(b, init.get(), wide));
  b.setInsertionPointAfter(op);
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    if (!isNarrow(result))
      continue;
    Type narrow = getElementTypeOrSelf(result);
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(type.clone(wide));
    op.getBlock()->getArgument(op.getNumDpsInputs() + index).setType(wide);
    Operation *combiner = matchCombiner(op, index);
    for (OpOperand &operand : combiner->getOpOperands())
      if (isNarrow(operand.get())) {
        OpBuilder inner(combiner);
        operand.set(arith::ExtFOp::create(inner, op.getLoc(), wide, operand.get()));
      }
    combiner->getResult(0).setType(wide);
    Value rounded = convert<arith::TruncFOp>(b, result, narrow);
    result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
  }
}

void mlir::epl::widenAccumulators(KernelOp kernel) {
  SmallVector<linalg::GenericOp> reductions;
  kernel.getBody().walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() && llvm::any_of(op.getResults(), isNarrow) && matchCombiner(op, 0))
      reductions.push_back(op);
  });
  llvm::for_each(reductions, widen);
}
