//===- Arrangement.cpp - What is taken of a tensor, made as it is ---------===//

#include "passes/shard/prepare/Arrangement.h"

#include "dialect/Epl.h"
#include "passes/shard/analysis/TensorType.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

#include <numeric>

using namespace mlir;
using namespace mlir::epl;

bool mlir::epl::isArrangement(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp>(op);
}

bool mlir::epl::arrangeAlike(Operation *a, Operation *b) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(a)) {
    auto other = dyn_cast<tensor::ExtractSliceOp>(b);
    return other && slice.getStaticOffsets() == other.getStaticOffsets() &&
           slice.getType().getShape() == other.getType().getShape() &&
           slice.getStaticStrides() == other.getStaticStrides();
  }
  auto reshape = cast<tensor::ExpandShapeOp>(a);
  auto other = dyn_cast<tensor::ExpandShapeOp>(b);
  return other && reshape.getReassociation() == other.getReassociation() &&
         reshape.getResultType().getShape() == other.getResultType().getShape();
}

namespace {
/// What one loop becomes: a range of it, or several loops in its place.
struct NewLoop {
  int64_t offset = 0;
  SmallVector<int64_t> extents; ///< of the loops, outermost first
  unsigned first = 0;           ///< their number
};
} // namespace

/// Of each loop of `op` what it becomes if each dimension of its results becomes what `dims` says.
static FailureOr<SmallVector<NewLoop>> getLoops(linalg::GenericOp op, ArrayRef<NewLoop> dims) {
  SmallVector<NewLoop> loops;
  for (int64_t extent : op.getStaticLoopRanges())
    loops.push_back({0, {extent}});
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.getMatchingIndexingMap(&init) != map)
      return failure();
  if (!map.isProjectedPermutation())
    return failure();
  for (auto [expr, dim] : llvm::zip_equal(map.getResults(), dims))
    loops[cast<AffineDimExpr>(expr).getPosition()] = dim;
  unsigned next = 0;
  for (NewLoop &loop : loops)
    loop.first = std::exchange(next, next + loop.extents.size());
  return loops;
}

/// What is the same everywhere in the shape of `type`; null of other values.
static Value makeUniform(Value value, RankedTensorType type, OpBuilder &builder) {
  if (value.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(builder, value.getLoc(), type.getShape(), type.getElementType());
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr())
    return arith::ConstantOp::create(builder, value.getLoc(), splat.resizeSplat(type));
  return {};
}

namespace {
/// An operand as new loops walk it.
struct NewOperand {
  AffineMap map;
  SmallVector<int64_t> offsets, sizes, shape; ///< what is sliced of it, and what that is reshaped to
  SmallVector<ReassociationIndices> groups;
};
} // namespace

static FailureOr<NewOperand> getOperand(linalg::GenericOp op, OpOperand &operand, ArrayRef<NewLoop> loops) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  NewOperand made;
  SmallVector<AffineExpr> exprs;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    int64_t extent = type.getDimSize(dim);
    auto walked = dyn_cast<AffineDimExpr>(expr);
    if (!walked && !isa<AffineConstantExpr>(expr))
      return failure();
    NewLoop own = walked ? loops[walked.getPosition()] : NewLoop{0, {extent}};
    made.offsets.push_back(own.offset);
    made.sizes.push_back(llvm::product_of(own.extents));
    made.groups.emplace_back();
    for (auto [index, size] : llvm::enumerate(own.extents)) {
      made.groups.back().push_back(made.shape.size());
      made.shape.push_back(size);
      exprs.push_back(walked ? getAffineDimExpr(own.first + index, op.getContext()) : expr);
    }
  }
  made.map = AffineMap::get(loops.back().first + loops.back().extents.size(), 0, exprs, op.getContext());
  return made;
}

/// What the new loops read of a tensor.
static Value arrange(Value value, const NewOperand &operand, OpBuilder &builder) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getShape() == ArrayRef(operand.shape))
    return value;
  if (Value uniform = makeUniform(value, type.clone(operand.shape), builder))
    return uniform;
  Location loc = value.getLoc();
  if (type.getShape() != ArrayRef(operand.sizes)) {
    SmallVector<int64_t> strides(operand.sizes.size(), 1);
    value =
        tensor::ExtractSliceOp::create(builder, loc, type.clone(operand.sizes), value, ValueRange(),
                                       ValueRange(), ValueRange(), operand.offsets, operand.sizes, strides);
  }
  if (operand.sizes != operand.shape)
    value = tensor::ExpandShapeOp::create(builder, loc, type.clone(operand.shape), value, operand.groups);
  return value;
}

/// Positions in the old loops, by those in the new ones.
static void replacePositions(linalg::GenericOp made, ArrayRef<NewLoop> loops) {
  for (auto position : llvm::to_vector(made.getBody()->getOps<linalg::IndexOp>())) {
    const NewLoop &loop = loops[position.getDim()];
    OpBuilder builder(position);
    Location loc = position.getLoc();
    Value index;
    for (auto [number, extent] : llvm::enumerate(loop.extents)) {
      Value own = linalg::IndexOp::create(builder, loc, loop.first + number);
      if (index) {
        Value size = arith::ConstantIndexOp::create(builder, loc, extent);
        own = arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, index, size), own);
      }
      index = own;
    }
    if (loop.offset != 0)
      index = arith::AddIOp::create(builder, loc, index,
                                    arith::ConstantIndexOp::create(builder, loc, loop.offset));
    position.replaceAllUsesWith(index);
    position.erase();
  }
}

/// `op` on what its results' dimensions become.
static FailureOr<SmallVector<Value>> makeGeneric(linalg::GenericOp op, ArrayRef<NewLoop> dims,
                                                 OpBuilder &builder) {
  FailureOr<SmallVector<NewLoop>> loops = getLoops(op, dims);
  if (failed(loops) || loops->empty())
    return failure();
  SmallVector<NewOperand> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<NewOperand> made = getOperand(op, operand, *loops);
    if (failed(made))
      return failure();
    operands.push_back(*made);
  }
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (auto [operand, made] : llvm::zip_equal(op->getOperands(), operands)) {
    values.push_back(arrange(operand, made, builder));
    maps.push_back(made.map);
  }
  SmallVector<utils::IteratorType> iterators;
  for (auto [loop, iterator] : llvm::zip_equal(*loops, op.getIteratorTypesArray()))
    iterators.append(loop.extents.size(), iterator);
  ArrayRef inits = ArrayRef(values).take_back(op.getNumDpsInits());
  auto made =
      linalg::GenericOp::create(builder, op.getLoc(), TypeRange(ValueRange(inits)),
                                ArrayRef(values).take_front(op.getNumDpsInputs()), inits, maps, iterators);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping mapping;
  op.getRegion().cloneInto(&made.getRegion(), mapping);
  replacePositions(made, *loops);
  return SmallVector<Value>(made.getResults());
}

/// What each part of a concatenation has of what its dimensions become.
static FailureOr<SmallVector<Value>> makeJoin(ConcatenateOp op, ArrayRef<NewLoop> dims, OpBuilder &builder) {
  int64_t dim = op.getDim(), at = 0;
  const NewLoop &along = dims[dim];
  if (along.extents.size() != 1)
    return failure();
  SmallVector<Value> parts;
  int64_t joined = 0; // the dimension, of what is made
  for (Value part : op.getOperands()) {
    int64_t extent = getTensorType(part).getDimSize(dim);
    int64_t first = std::max(along.offset, at), last = std::min(along.offset + along.extents[0], at + extent);
    at += extent;
    if (first >= last)
      continue;
    NewOperand own;
    for (auto [index, other] : llvm::enumerate(dims)) {
      NewLoop taken = int64_t(index) == dim ? NewLoop{first - (at - extent), {last - first}} : other;
      joined = int64_t(index) == dim ? int64_t(own.shape.size()) : joined;
      own.offsets.push_back(taken.offset);
      own.sizes.push_back(llvm::product_of(taken.extents));
      own.groups.emplace_back(taken.extents.size());
      std::iota(own.groups.back().begin(), own.groups.back().end(), own.shape.size());
      llvm::append_range(own.shape, taken.extents);
    }
    parts.push_back(arrange(part, own, builder));
  }
  if (parts.size() < 2)
    return parts.empty() ? FailureOr<SmallVector<Value>>(failure()) : parts;
  SmallVector<int64_t> shape(getTensorType(parts.front()).getShape());
  shape[joined] = along.extents[0];
  auto type = RankedTensorType::get(shape, op.getType().getElementType());
  return SmallVector<Value>{
      ConcatenateOp::create(builder, op.getLoc(), type, parts, builder.getI64IntegerAttr(joined))};
}

/// What becomes of each dimension of the tensor that an arrangement takes of.
static FailureOr<SmallVector<NewLoop>> getDims(Operation *arrangement) {
  SmallVector<NewLoop> dims;
  if (auto reshape = dyn_cast<tensor::ExpandShapeOp>(arrangement)) {
    ArrayRef<int64_t> shape = reshape.getResultType().getShape();
    for (const ReassociationIndices &group : reshape.getReassociationIndices())
      dims.push_back({0, llvm::map_to_vector(group, [&](int64_t dim) { return shape[dim]; })});
    return dims;
  }
  auto slice = cast<tensor::ExtractSliceOp>(arrangement);
  if (!slice.hasUnitStride() || slice.getType().getRank() != slice.getSourceType().getRank() ||
      ShapedType::isDynamicShape(slice.getStaticOffsets()))
    return failure();
  for (auto [offset, size] : llvm::zip_equal(slice.getStaticOffsets(), slice.getStaticSizes()))
    dims.push_back({offset, {size}});
  return dims;
}

FailureOr<SmallVector<Value>> mlir::epl::makeArranged(Operation *op, Operation *arrangement,
                                                      OpBuilder &builder) {
  FailureOr<SmallVector<NewLoop>> dims = getDims(arrangement);
  if (failed(dims))
    return failure();
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return makeGeneric(generic, *dims, builder);
  if (auto join = dyn_cast<ConcatenateOp>(op))
    return makeJoin(join, *dims, builder);
  return failure();
}
