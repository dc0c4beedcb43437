//===- Accesses.h - Which elements an op reads for what it makes -*- C++ -*-===//
//
// An op is a set of steps. A step reads at most one element of each operand and adds to one element of each
// result. This says what an op computes, not how it may be sharded: `epl-verify-sharded` holds shardings
// against it, so that a wrong factor rule does not pass.
//
//   matmul                steps (i, j, k):  a[i, k], b[k, j]  ->  c[i, j]
//   collapse 4x8 to 32    steps (i, j):     x[i, j]           ->  y[8 i + j]
//   concatenate 8 and 4   steps (i) of 8:   a[i]              ->  y[i]
//                         steps (i) of 4:   b[i]              ->  y[i + 8]
//   gather of rows        steps (w, p, d):  x[p, d], at[w]    ->  y[w, d]     row p, if at[w] is p
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"

namespace mlir::epl {

/// Steps that are alike: a box of loops, and what is read and added to in each of its points.
struct Steps {
  /// The extents of the loops.
  SmallVector<int64_t> loops;
  /// For each operand and result the position in it. Null for what is no tensor, or not touched.
  SmallVector<AffineMap> operands, results;

  /// Those of `op` without loops, and nothing touched.
  explicit Steps(Operation *op) : operands(op->getNumOperands()), results(op->getNumResults()) {}

  /// Adds a loop and gives its variable.
  AffineExpr addLoop(MLIRContext *context, int64_t extent);
  /// Adds a loop for each dimension.
  SmallVector<AffineExpr> addLoops(MLIRContext *context, ArrayRef<int64_t> shape);
  void setOperand(unsigned operand, ArrayRef<AffineExpr> position, MLIRContext *context);
  void setResult(unsigned result, ArrayRef<AffineExpr> position, MLIRContext *context);
};

/// Those of an op without a model: of a linalg op what its indexing maps say, of an elementwise op each
/// element by itself. Of another op each element of each result is made of all elements of all operands.
SmallVector<Steps> deriveSteps(Operation *op);

/// Each element of the results is made of the elements of the operands at its place, but along `except`,
/// where it is made of all of them.
SmallVector<Steps> getPointwiseSteps(Operation *op, int64_t except = -1);

/// All of all, in the dimensions from `first` on; before these, each index by itself.
SmallVector<Steps> getBatchedSteps(Operation *op, int64_t first);

} // namespace mlir::epl
