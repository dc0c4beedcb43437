//===- Transposes.h - Transposes round contractions -------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::epl {

/// Whether an op starts from a number that another op puts everywhere.
bool startsFromFill(linalg::GenericOp op);

/// Puts a transpose that keeps rows behind the ops that lie between it and an operand of a contraction, if
/// they make each element of one, and contractions alone read the last one; false if it does not.
bool lowerTranspose(OpOperand &input);

/// Has a contraction make the result of a transpose instead of its source, through what makes each element of
/// one, and beside what is made of rows and transposed in the same way; false if it does not.
bool foldTransposeOfResult(linalg::GenericOp op);

} // namespace mlir::epl
