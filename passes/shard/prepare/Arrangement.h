//===- Arrangement.h - What is taken of a tensor, made as it is -*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"

namespace mlir::epl {

/// Whether an op takes elements of a tensor without computing: a slice, or a reshape that takes dimensions
/// apart.
bool isArrangement(Operation *op);

/// Whether two of them take the same of tensors of one shape.
bool arrangeAlike(Operation *a, Operation *b);

/// What `arrangement`, which takes of one of its results, would take of each result of `op`: made by an op of
/// its own, of operands that are arranged. Failure, with nothing made, for an op of which no such form is
/// known: a generic whose results are not walked alike, or by more than one loop for each dimension.
FailureOr<SmallVector<Value>> makeArranged(Operation *op, Operation *arrangement, OpBuilder &builder);

} // namespace mlir::epl
