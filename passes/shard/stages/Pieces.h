//===- Pieces.h - Ranges of a dimension -------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::epl {

/// Indices of a dimension, from `begin` on.
struct PieceRange {
  int64_t dim, begin, size;
};

/// A piece of a tensor; that itself if it is all of it.
Value createPiece(OpBuilder &builder, Location loc, Value value, PieceRange range);

/// Pieces one behind the other along a dimension; the only one itself.
Value joinPieces(OpBuilder &builder, Location loc, ValueRange pieces, int64_t dim, WorkAttr work);

/// A piece of a padding, and whether it is known to be zero. Null if other dimensions are padded, too, or by
/// no constant. `source` stands for what is padded.
struct PaddedPiece {
  Value value;
  bool isZero;
};
PaddedPiece createPaddedPiece(OpBuilder &builder, tensor::PadOp op, Value source, PieceRange range);

} // namespace mlir::epl
