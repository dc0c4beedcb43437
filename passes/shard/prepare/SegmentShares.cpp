//===- SegmentShares.cpp - Between parts and shares of them ---------------===//
//
// Parts of different extents stand one behind the other in a dimension for the caller, and for ops that know
// nothing of them. In a dimension written as two, (shares, extent of one), each share has an equal piece of
// every part. These functions take a tensor from one order to the other.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/prepare/SegmentExpander.h"

using namespace mlir;
using namespace mlir::epl;

/// Dimensions `at` and `at + 1` of `rank` are one, all others are themselves.
static SmallVector<ReassociationIndices> joinDims(int64_t rank, int64_t at) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim == at + 1)
      groups.back().push_back(dim);
    else
      groups.push_back({dim});
  return groups;
}

/// `size` elements from `offset` on along dimension `at`.
static Value sliceAlong(OpBuilder &builder, Value value, int64_t at, int64_t offset, int64_t size) {
  SmallVector<int64_t> shape(getTensorType(value).getShape());
  shape[at] = size;
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(shape.size(), builder.getIndexAttr(1));
  offsets[at] = builder.getIndexAttr(offset);
  return tensor::ExtractSliceOp::create(builder, value.getLoc(), value, offsets,
                                        getAsIndexOpFoldResult(builder.getContext(), shape), strides);
}

/// The tensors one behind the other along dimension `at`.
static Value concatenate(OpBuilder &builder, ArrayRef<Value> tensors, int64_t at) {
  SmallVector<int64_t> shape(getTensorType(tensors.front()).getShape());
  shape[at] = 0;
  for (Value tensor : tensors)
    shape[at] += getTensorType(tensor).getDimSize(at);
  return ConcatenateOp::create(builder, tensors.front().getLoc(), getTensorType(tensors.front()).clone(shape),
                               tensors, at);
}

Value mlir::epl::joinShares(OpBuilder &builder, Value value, int64_t at, ArrayRef<int64_t> parts) {
  RankedTensorType type = getTensorType(value);
  int64_t offset = 0, shares = type.getDimSize(at);
  SmallVector<Value> made;
  for (int64_t part : parts) {
    Value pieces = sliceAlong(builder, value, at + 1, offset, part / shares);
    made.push_back(
        tensor::CollapseShapeOp::create(builder, value.getLoc(), pieces, joinDims(type.getRank(), at)));
    offset += part / shares;
  }
  return concatenate(builder, made, at);
}

Value mlir::epl::dealShares(OpBuilder &builder, Value value, int64_t at, ArrayRef<int64_t> parts,
                            int64_t shares) {
  RankedTensorType type = getTensorType(value);
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + at, shares);
  int64_t offset = 0;
  SmallVector<Value> made;
  for (int64_t part : parts) {
    Value whole = sliceAlong(builder, value, at, offset, part);
    shape[at + 1] = part / shares;
    made.push_back(tensor::ExpandShapeOp::create(builder, value.getLoc(), type.clone(shape), whole,
                                                 joinDims(shape.size(), at)));
    offset += part;
  }
  return concatenate(builder, made, at + 1);
}
