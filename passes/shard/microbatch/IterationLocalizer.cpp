//===- IterationLocalizer.cpp - The ops of one iteration ------------------===//

#include "passes/shard/microbatch/IterationLocalizer.h"
#include "passes/shard/analysis/TensorType.h"

using namespace mlir;
using namespace mlir::epl;

/// `type` with `extent` as a new dimension `dim`.
static RankedTensorType insertDim(RankedTensorType type, int64_t dim, int64_t extent) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + dim, extent);
  return type.clone(shape);
}

RankedTensorType mlir::epl::splitDim(RankedTensorType type, int64_t dim, int64_t parts) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= parts;
  return insertDim(type.clone(shape), dim, parts);
}

/// The reshape between a tensor of `rank` dimensions and that tensor with dimension `dim` taken apart.
static SmallVector<ReassociationIndices> getGroups(int64_t rank, int64_t dim) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t each = 0; each < rank; ++each) {
    groups.push_back({each + (each > dim)});
    if (each == dim)
      groups.back().push_back(each + 1);
  }
  return groups;
}

Value IterationLocalizer::createSlice(Location loc, Value tensor, MeshOp, ShardingAttr, ShardingAttr to) {
  int64_t dim = 0;
  while (to.getDimAxes(dim).empty())
    ++dim;
  return createPart(createSplit(tensor, dim, loc), dim, loc);
}

Value IterationLocalizer::createSplit(Value whole, int64_t dim, Location loc) {
  RankedTensorType type = splitDim(getTensorType(whole), dim, loop.getTripCount());
  return stamped(tensor::ExpandShapeOp::create(builder, loc, type, whole,
                                               getGroups(getTensorType(whole).getRank(), dim)));
}

Value IterationLocalizer::createJoin(Value split, int64_t dim, Location loc) {
  SmallVector<int64_t> shape(getTensorType(split).getShape());
  shape.erase(shape.begin() + dim);
  shape[dim] *= loop.getTripCount();
  return stamped(tensor::CollapseShapeOp::create(builder, loc, getTensorType(split).clone(shape), split,
                                                 getGroups(shape.size(), dim)));
}

Value IterationLocalizer::createPart(Value split, int64_t dim, Location loc) {
  Value stack = moveDim(split, dim, 0, loc);
  RankedTensorType type = getTensorType(stack);
  return stamped(LoopSliceOp::create(builder, loc, type.clone(type.getShape().drop_front()), loop,
                                     /*reverse=*/UnitAttr(), stack));
}

Value IterationLocalizer::createStack(Value part, int64_t dim, Location loc) {
  auto stack = LoopStackOp::create(builder, loc, insertDim(getTensorType(part), 0, loop.getTripCount()), loop,
                                   /*reverse=*/UnitAttr(), part);
  return moveDim(stamped(stack), 0, dim, loc);
}

/// A tensor with dimension `from` as dimension `to`.
Value IterationLocalizer::moveDim(Value value, int64_t from, int64_t to, Location loc) {
  if (from == to)
    return value;
  RankedTensorType type = getTensorType(value);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  auto shape = llvm::map_to_vector(order, [&](int64_t dim) { return type.getDimSize(dim); });
  SmallVector<unsigned> loops(type.getRank()); // the loop along each dimension of the operand
  for (auto [position, dim] : llvm::enumerate(order))
    loops[dim] = position;
  Value empty = stamped(tensor::EmptyOp::create(builder, loc, shape, type.getElementType()));
  SmallVector<AffineMap> maps = {AffineMap::getPermutationMap(loops, type.getContext()),
                                 builder.getMultiDimIdentityMap(type.getRank())};
  SmallVector<utils::IteratorType> kinds(type.getRank(), utils::IteratorType::parallel);
  auto yield = [](OpBuilder &at, Location place, ValueRange elements) {
    linalg::YieldOp::create(at, place, elements.front());
  };
  return stamped(
      linalg::GenericOp::create(builder, loc, type.clone(shape), value, empty, maps, kinds, yield));
}
