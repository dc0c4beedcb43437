//===- CutDims.h - Dimensions that a program takes apart --------*- C++ -*-===//
//
// Where layers are stacked, a loop takes the iteration's part of a parameter, or, unrolled, a slice does;
// gradients are put together likewise. Who shards such a dimension must gather all of it before the first
// layer. What updates a state may sum over a dimension: an orthogonalized momentum, a factored moment. Who
// shards that exchanges those sums.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/IntEqClasses.h"

namespace mlir::epl {

/// What becomes of the dimensions of a function's tensors. Dimensions that ops walk by one factor are one,
/// and so are those of a carried value from one iteration to the next, and of a state from step to step.
class CutDims {
public:
  explicit CutDims(const FunctionRules &rules);

  /// Whether iterations of a loop, or slices and concatenations of single rows, take the dimension apart.
  bool isCut(Value tensor, int64_t dim) const { return cut.test(getClass(tensor, dim)); }
  /// Whether what applies gradients multiplies and sums along the dimension.
  bool isContracted(Value tensor, int64_t dim) const { return contracted.test(getClass(tensor, dim)); }

private:
  unsigned getClass(Value tensor, int64_t dim) const { return classes[first.lookup(tensor) + dim]; }
  void number(Value value);
  void join(Value a, Value b);
  void link(Operation *op, const FactorRule &rule);
  void linkEnds(const FunctionRules &rules);
  void findCuts(Operation *op);
  void findContracted(Operation *op, const FactorRule &rule);
  void cutWhere(Value whole, int64_t dim, int64_t size);

  DenseMap<Value, unsigned> first; ///< the number of dimension 0 of each tensor
  unsigned size = 0;
  llvm::IntEqClasses classes;
  llvm::BitVector cut, contracted; ///< by class
};

} // namespace mlir::epl
