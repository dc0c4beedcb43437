//===- Segments.h - Dimensions that are cut into equal segments -*- C++ -*-===//
//
// Queries, keys and values of attention often come out of one product, and so do the gates of a perceptron
// or a recurrent cell: one dimension of a matrix is several of equal extent, one behind the other, which
// slices take apart. No axis can split such a dimension without cutting across the segments; each segment it
// can. This analysis finds the dimensions of all tensors that are such segments together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// For each dimension of a tensor the extent of its segments, 0 where it has none. A dimension of segments
/// can be written as two: (segments, extent of each).
using Widths = SmallVector<int64_t>;

/// Whether some dimension has segments.
bool hasSegments(ArrayRef<int64_t> widths);

/// The type with two dimensions in the place of each that has segments.
RankedTensorType expandSegments(RankedTensorType type, ArrayRef<int64_t> widths);

/// Whether an argument has its segments between steps, too: a state, or what arrives so from another step.
bool keepsSegments(BlockArgument argument);

/// Whether every element of a tensor is the same, made by an op that can make it in any shape: what is shared
/// by ops that have nothing else in common.
bool isSameEverywhere(Value tensor);

/// The segments of a function's tensors.
class Segments {
public:
  /// Those that parameters have a part in and whose extent one of `axisSizes` divides.
  Segments(func::FuncOp function, ArrayRef<int64_t> axisSizes);

  bool isEmpty() const { return widths.empty(); }
  Widths getWidths(Value tensor) const;

private:
  DenseMap<Value, Widths> widths; ///< of the tensors that have segments
};

} // namespace mlir::epl
