//===- CutDims.h - Dimensions that a program takes apart --------*- C++ -*-===//
//
// ZeRO shards states along a dimension that it may choose. Two kinds of dimensions are bad choices:
//
//   cut          dimension 0 of w: 24 x 512 x 512, a stack of 24 layers. Layer i reads w[i], by
//                `epl.loop_slice` or by a slice. If dimension 0 is sharded, all layers have to be gathered
//                before the first one.
//   contracted   dimension 1 of m: 512 x 512, the momentum of Muon, whose update multiplies m by its
//   transpose.
//                If dimension 1 is sharded, devices have partial products and sum them.
//
// This analysis follows dimensions through the program and finds both.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/IntEqClasses.h"

namespace mlir::epl {

/// Classes of dimensions of all tensors of a function. Two dimensions are in one class if a factor of some op
/// walks both, if they are one dimension of a carried value in successive iterations, or of a state in
/// successive steps.
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
