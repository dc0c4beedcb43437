//===- Indexed.h - How the dimensions of a gather correspond ----*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// What `epl.gather` and `epl.scatter` have in common: an operand, index tensors, and the tensor that holds
/// the windows of the operand: the result of a gather, the updates of a scatter.
struct IndexedAccess {
  explicit IndexedAccess(GatherOp op);
  explicit IndexedAccess(ScatterOp op);

  RankedTensorType operand, windows;
  ValueRange indices;
  /// The dimension of the operand that each index tensor is of.
  ArrayRef<int64_t> of;
  /// The dimension of `windows` that each dimension of the operand is, or -1.
  ArrayRef<int64_t> operandDims;
  /// The dimension of `windows` that each dimension of the index tensors is.
  ArrayRef<int64_t> indexDims;

  /// The dimension of the index tensors that dimension `dim` of the operand is, or -1.
  int64_t getBatchDim(int64_t dim) const;
  /// The extent of the windows along dimension `dim` of the operand.
  int64_t getWindow(int64_t dim) const;
  /// Whether windows take dimension `dim` of the operand as a whole, or part by part as a batch.
  bool isWhole(int64_t dim) const;
  /// Whether windows are one of several elements along dimension `dim` of the operand, so that each lies in
  /// one part however the dimension is split.
  bool isElement(int64_t dim) const { return getBatchDim(dim) < 0 && getWindow(dim) == 1 && !isWhole(dim); }

  /// Fails with an error at `op`, whose tensor of windows errors call `name`.
  LogicalResult verify(Operation *op, StringRef name) const;

private:
  LogicalResult verifyIndices(Operation *op) const;
  LogicalResult verifyDims(Operation *op, StringRef name) const;
  LogicalResult verifyExtents(Operation *op, StringRef name) const;
};

} // namespace mlir::epl
