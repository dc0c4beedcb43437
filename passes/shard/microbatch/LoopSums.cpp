//===- LoopSums.cpp - Sums over micro-batches -----------------------------===//

#include "passes/shard/microbatch/LoopSums.h"
#include "passes/shard/analysis/TensorType.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::epl;

Value mlir::epl::carrySum(Value addend, ReductionKind kind, int64_t index, FlatSymbolRefAttr mesh,
                          IterationLocalizer &localizer) {
  OpBuilder &builder = localizer.builder;
  Location loc = addend.getLoc();
  Type element = getSumType(getTensorType(addend).getElementType());
  RankedTensorType type = getTensorType(addend).clone(element);
  arith::AtomicRMWKind combiner = getCombiner(kind, element);
  TypedAttr neutral = arith::getIdentityValueAttr(combiner, element, builder, loc);
  Value init = localizer.stamped(
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<Attribute>(neutral))));
  Value carried = localizer.stamped(LoopCarryOp::create(builder, loc, type, localizer.loop, index, init));
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  auto combine = [&](OpBuilder &at, ValueRange elements) {
    Value own = elements[1];
    if (own.getType() != element)
      own = arith::ExtFOp::create(at, loc, element, own);
    return arith::getReductionOp(combiner, at, loc, elements[0], own);
  };
  return localizer
      .createMap(addend.getDefiningOp(), type, ShardingAttr::getReplicated(mesh, type.getRank()),
                 {carried, localizer.values.lookup(addend)}, {identity, identity}, combine)
      ->getResult(0);
}

Value mlir::epl::roundSum(Value sum, Type element, Operation *maker, FlatSymbolRefAttr mesh,
                          IterationLocalizer &localizer) {
  if (getTensorType(sum).getElementType() == element)
    return sum;
  RankedTensorType type = getTensorType(sum).clone(element);
  auto round = [&](OpBuilder &at, ValueRange elements) -> Value {
    return arith::TruncFOp::create(at, maker->getLoc(), element, elements[0]);
  };
  return localizer
      .createMap(maker, type, ShardingAttr::getReplicated(mesh, type.getRank()), sum,
                 localizer.builder.getMultiDimIdentityMap(type.getRank()), round)
      ->getResult(0);
}
