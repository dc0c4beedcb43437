//===- LocalizeReshards.cpp - Reshards as collectives and slices ----------===//
//
// Each step of a reshard (PlanReshard.h) becomes one op: a collective on the distributed value, or a slice or
// a mask of the local one.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/PlanReshard.h"
#include "passes/shard/localize/Localize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::epl;

Value Localizer::createSlice(Location loc, Value tensor, MeshOp mesh, ShardingAttr from, ShardingAttr to) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)), sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    SmallVector<StringRef> added = to.getDimAxes(dim);
    added.erase(added.begin(), added.begin() + from.getDimAxes(dim).size());
    int64_t extent = type.getDimSize(dim) / getAxesSize(mesh, added);
    if (!added.empty())
      offsets[dim] = createOffset(builder, loc, mesh, added, extent);
    sizes.push_back(builder.getIndexAttr(extent));
  }
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  Operation *slice;
  if (type.getNumElements() > 0)
    slice = tensor::ExtractSliceOp::create(builder, loc, tensor, offsets, sizes, strides);
  else // an empty tensor has no place that a slice could begin at
    slice = tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  slice->setAttr(EplDialect::kShardingAttr, builder.getArrayAttr(to));
  return slice->getResult(0);
}

Type mlir::epl::getSumType(Type element) {
  bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Float32Type::get(element.getContext()) : element;
}

arith::AtomicRMWKind mlir::epl::getCombiner(ReductionKind kind, Type element) {
  bool isFloat = isa<FloatType>(element);
  switch (kind) {
  case ReductionKind::sum:
    return isFloat ? arith::AtomicRMWKind::addf : arith::AtomicRMWKind::addi;
  case ReductionKind::prod:
    return isFloat ? arith::AtomicRMWKind::mulf : arith::AtomicRMWKind::muli;
  case ReductionKind::max:
    return isFloat ? arith::AtomicRMWKind::maximumf : arith::AtomicRMWKind::maxs;
  case ReductionKind::min:
    return isFloat ? arith::AtomicRMWKind::minimumf : arith::AtomicRMWKind::mins;
  case ReductionKind::all:
    return arith::AtomicRMWKind::andi;
  case ReductionKind::any:
    return arith::AtomicRMWKind::ori;
  }
  llvm_unreachable("every reduction is listed");
}

Value Localizer::createMask(Operation *global, Value value, MeshOp mesh, ShardingAttr from, ShardingAttr to) {
  auto type = cast<RankedTensorType>(value.getType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  auto select = [&](OpBuilder &at, ValueRange elements) {
    Location loc = global->getLoc();
    Value neutral = arith::getIdentityValue(getCombiner(to.getReduction(), type.getElementType()),
                                            type.getElementType(), at, loc);
    Value kept = elements.front();
    Value zero = arith::ConstantIndexOp::create(at, loc, 0);
    for (StringRef axis : getReducedAxes(mesh, to, from)) {
      Value first =
          arith::CmpIOp::create(at, loc, arith::CmpIPredicate::eq, getAxisIndex(to.getMesh(), axis), zero);
      kept = arith::SelectOp::create(at, loc, first, kept, neutral);
    }
    return kept;
  };
  return createMap(global, type, to, value, identity, select)->getResult(0);
}

namespace {
/// One reshard on its way: the local value and how the whole is distributed at this point.
class ReshardLowering {
public:
  ReshardLowering(ReshardOp op, Localizer &localizer)
      : op(op), localizer(localizer), mesh(lookupMesh(op, op.getSharding().getMesh())),
        value(localizer.values.lookup(op.getOperand())), sharding(getSharding(op.getOperand())) {}

  Value run() {
    for (const ReshardStep &step : planReshard(op.getType(), sharding, op.getSharding(), mesh)) {
      value = apply(step);
      sharding = step.to;
    }
    return value;
  }

private:
  Value apply(const ReshardStep &step) {
    switch (step.kind) {
    case ReshardStep::Kind::slice: {
      Value slice = localizer.createSlice(op.getLoc(), value, mesh, sharding, step.to);
      localizer.stamp(slice.getDefiningOp(), op, step.to);
      return slice;
    }
    case ReshardStep::Kind::mask:
      return localizer.createMask(op, value, mesh, sharding, step.to);
    case ReshardStep::Kind::reduceScatter:
      return createCollective<ReduceScatterOp>(step.to);
    case ReshardStep::Kind::allReduce:
      return createCollective<AllReduceOp>(step.to);
    case ReshardStep::Kind::allToAll:
      return createCollective<AllToAllOp>(step.to);
    case ReshardStep::Kind::permute:
      return createCollective<PermuteOp>(step.to);
    case ReshardStep::Kind::allGather:
      return createCollective<AllGatherOp>(step.to, step.dim);
    }
    llvm_unreachable("every kind of step is handled");
  }

  template <typename Op, typename... Args> Value createCollective(ShardingAttr to, Args... args) {
    Value partial = fromLocal();
    auto collective = Op::create(localizer.builder, op.getLoc(), TypeRange{getDist(to)}, partial, args...);
    for (StringRef name : {EplDialect::kWorkAttr, EplDialect::kCauseAttr})
      if (Attribute value = op->getAttr(name))
        collective->setAttr(name, value);
    return toLocal(collective->getResult(0));
  }

  DistType getDist(ShardingAttr as) { return DistType::get(op.getContext(), op.getType(), as); }
  Value fromLocal() { return FromLocalOp::create(localizer.builder, op.getLoc(), getDist(sharding), value); }
  Value toLocal(Value dist) {
    RankedTensorType type = getLocalType(op, cast<DistType>(dist.getType()));
    return ToLocalOp::create(localizer.builder, op.getLoc(), type, dist);
  }

  ReshardOp op;
  Localizer &localizer;
  MeshOp mesh;
  Value value;
  ShardingAttr sharding;
};
} // namespace

void mlir::epl::localizeReshard(ReshardOp op, Localizer &localizer) {
  localizer.values.map(op.getResult(), ReshardLowering(op, localizer).run());
}
