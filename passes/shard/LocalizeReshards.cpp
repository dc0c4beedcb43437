//===- LocalizeReshards.cpp - Reshards as collectives and slices ----------===//
//
// Each step of a reshard (PlanReshard.h) becomes one op: a collective on the distributed value or a slice of
// the local one.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Localize.h"
#include "passes/shard/PlanReshard.h"

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

namespace {
/// One reshard on its way: the local value and how the whole is distributed at this point.
class ReshardLowering {
public:
  ReshardLowering(ReshardOp op, Localizer &localizer)
      : op(op), localizer(localizer), mesh(lookupMesh(op, op.getSharding().getMesh())),
        value(localizer.values.lookup(op.getOperand())), sharding(getSharding(op.getOperand())) {}

  Value run() {
    for (const ReshardStep &step : planReshard(sharding, op.getSharding())) {
      value = apply(step);
      sharding = step.to;
    }
    return value;
  }

private:
  Value apply(const ReshardStep &step) {
    switch (step.kind) {
    case ReshardStep::Kind::allReduce:
      return toLocal(AllReduceOp::create(localizer.builder, op.getLoc(), getDist(step.to), fromLocal()));
    case ReshardStep::Kind::allGather:
      return toLocal(
          AllGatherOp::create(localizer.builder, op.getLoc(), getDist(step.to), fromLocal(), step.dim));
    case ReshardStep::Kind::slice: {
      Value slice = localizer.createSlice(op.getLoc(), value, mesh, sharding, step.to);
      if (Attribute work = op->getAttr(EplDialect::kWorkAttr))
        slice.getDefiningOp()->setAttr(EplDialect::kWorkAttr, work);
      return slice;
    }
    }
    llvm_unreachable("every kind of step is handled");
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
