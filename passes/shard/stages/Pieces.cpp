//===- Pieces.cpp - Ranges of a dimension ---------------------------------===//

#include "passes/shard/stages/Pieces.h"
#include "passes/shard/analysis/TensorType.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::epl;

Value mlir::epl::createPiece(OpBuilder &builder, Location loc, Value value, PieceRange range) {
  RankedTensorType type = getTensorType(value);
  if (range.begin == 0 && range.size == type.getDimSize(range.dim))
    return value;
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)), sizes,
      strides(type.getRank(), builder.getIndexAttr(1));
  for (int64_t extent : type.getShape())
    sizes.push_back(builder.getIndexAttr(extent));
  offsets[range.dim] = builder.getIndexAttr(range.begin);
  sizes[range.dim] = builder.getIndexAttr(range.size);
  return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes, strides);
}

Value mlir::epl::joinPieces(OpBuilder &builder, Location loc, ValueRange pieces, int64_t dim, WorkAttr work) {
  if (pieces.size() == 1)
    return pieces.front();
  SmallVector<int64_t> shape(getTensorType(pieces.front()).getShape());
  shape[dim] = 0;
  for (Value piece : pieces)
    shape[dim] += getTensorType(piece).getDimSize(dim);
  RankedTensorType type = getTensorType(pieces.front()).clone(shape);
  auto made = ConcatenateOp::create(builder, loc, type, pieces, dim);
  made->setAttr(EplDialect::kWorkAttr, work);
  return made;
}

/// The constant that one dimension alone is padded with, or null.
static TypedAttr getPadding(tensor::PadOp op, int64_t dim) {
  Value filling = op.getConstantPaddingValue();
  TypedAttr constant;
  if (!filling || !matchPattern(filling, m_Constant(&constant)))
    return {};
  for (int64_t each = 0; each < op.getResultType().getRank(); ++each)
    if (each != dim && op.getResultType().getDimSize(each) != op.getSourceType().getDimSize(each))
      return {};
  return constant;
}

PaddedPiece mlir::epl::createPaddedPiece(OpBuilder &builder, tensor::PadOp op, Value source,
                                         PieceRange range) {
  TypedAttr constant = getPadding(op, range.dim);
  if (!constant)
    return {};
  SmallVector<int64_t> shape(op.getResultType().getShape());
  shape[range.dim] = range.size;
  RankedTensorType type = op.getResultType().clone(shape);
  int64_t end = range.begin + range.size, low = op.getStaticLow()[range.dim];
  int64_t high = low + op.getSourceType().getDimSize(range.dim);
  int64_t first = std::clamp(low, range.begin, end), last = std::clamp(high, range.begin, end);
  if (first == last) {
    auto filled = DenseElementsAttr::get(type, ArrayRef<Attribute>(constant));
    Value element = op.getConstantPaddingValue();
    return {arith::ConstantOp::create(builder, op.getLoc(), filled),
            matchPattern(element, m_AnyZeroFloat()) || matchPattern(element, m_Zero())};
  }
  Value piece = createPiece(builder, op.getLoc(), source, {range.dim, first - low, last - first});
  if (last - first == range.size)
    return {piece, false};
  SmallVector<OpFoldResult> before(type.getRank(), builder.getIndexAttr(0)), behind = before;
  before[range.dim] = builder.getIndexAttr(first - range.begin);
  behind[range.dim] = builder.getIndexAttr(end - last);
  Value element = arith::ConstantOp::create(builder, op.getLoc(), constant);
  return {tensor::PadOp::create(builder, op.getLoc(), type, piece, before, behind, element), false};
}
