//===- Segments.h - Dimensions that are cut into parts --------*- C++ -*-===//
//
// Queries, keys and values of attention often come out of one product x @ wqkv, and so do the gates of a
// recurrent cell. Then one dimension of a matrix consists of several parts, one behind the other, which
// slices take apart. An axis that splits the whole dimension would cut across the parts; it should split each
// part:
//
//   the dimension                   [ q q q q | k k k k | v v v v ]
//   split as a whole, the member    [ 0 0 0 0 | 0 0 1 1 | 1 1 1 1 ]    slices have to be exchanged
//   each part split, the member     [ 0 0 1 1 | 0 0 1 1 | 0 0 1 1 ]    slices are sharded
//
// This analysis finds such dimensions in all tensors of a function: it starts at slices and concatenations,
// and follows the dimension through ops. `epl-expand-segments` then writes them as two dimensions each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// How a dimension is written: as one dimension, or as two.
///
///     parts             | form                      | order of elements
///     ------------------+---------------------------+-----------------------------------------------
///     none              | (extent)                  | as it was
///     equal: q4 k4 v4   | (3 segments, 4 of each)   | as it was
///     other: q8 k2 v2,  | (2 shares, 6 of each)     | share 0 is q0..q3 k0 v0, share 1 is q4..q7 k1 v1:
///     for two members   |                           | each share has an equal piece of every part
struct DimForm {
  int64_t inner = 0;            ///< the extent of the second dimension; 0 if the dimension stays one
  DenseI64ArrayAttr parts = {}; ///< the extents of the parts if there are shares; null for equal segments

  bool isTwo() const { return inner != 0; }
  bool operator==(const DimForm &other) const { return inner == other.inner && parts == other.parts; }
  bool operator!=(const DimForm &other) const { return !(*this == other); }
};

/// The form of a dimension that has `factor` elements in the place of each element of this one.
DimForm multiply(DimForm form, int64_t factor);

/// How each dimension of a tensor is written.
using Form = SmallVector<DimForm>;

/// Whether some dimension is written as two.
bool hasSegments(ArrayRef<DimForm> form);

/// The position of dimension `dim` in a tensor that is written in that form; the first of two.
int64_t getPosition(ArrayRef<DimForm> form, int64_t dim);

/// The type with two dimensions in the place of each that is written so.
RankedTensorType expandSegments(RankedTensorType type, ArrayRef<DimForm> form);

/// The form of a slice of `size` elements from `offset` on of a dimension of `extent` elements that is
/// written as shares of parts; nothing if the slice does not consist of whole parts. Of one part it is the
/// form of equal segments, since its pieces are in order.
std::optional<DimForm> getRangeForm(DimForm form, int64_t extent, int64_t offset, int64_t size);

/// Whether an argument is kept in its form between steps: a state, and what another step returned in that
/// form. Others are written so at the beginning of the step.
bool keepsSegments(BlockArgument argument);

/// Whether a tensor has one value everywhere and its op can make it in any shape (a splat, an empty tensor).
/// The analysis does not follow dimensions through these, since unrelated ops share them.
bool isSameEverywhere(Value tensor);

/// The segments of a function's tensors.
class Segments {
public:
  /// Finds the dimensions with parts that some parameter has, if one of `axisSizes` divides the parts.
  Segments(func::FuncOp function, ArrayRef<int64_t> axisSizes);

  bool isEmpty() const { return forms.empty(); }
  Form getForm(Value tensor) const;

private:
  DenseMap<Value, Form> forms; ///< of the tensors that have segments
};

} // namespace mlir::epl
