//===- Matrices.h - Ops on whole matrices -----------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// Whether a library does the op, matrix by matrix: `epl.factorize`, `epl.triangular_solve`.
bool isMatrixOp(Operation *op);

/// How many dimensions are the batch of a matrix op: the first ones of each operand and result.
int64_t getNumBatchDims(Operation *op);

/// The floating-point operations that a matrix op takes, about (Golub and Van Loan, Matrix Computations).
int64_t getMatrixFlops(Operation *op);

} // namespace mlir::epl
