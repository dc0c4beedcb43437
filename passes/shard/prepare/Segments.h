//===- Segments.h - Dimensions that are cut into parts --------*- C++ -*-===//
//
// Queries, keys and values of attention often come out of one product, and so do the gates of a perceptron
// or a recurrent cell: one dimension of a matrix is several, one behind the other, which slices take apart.
// No axis can split such a dimension without cutting across them; each part of it it can. This analysis finds
// the dimensions of all tensors that are such parts together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// How a dimension is written as two, if it is. Of equal segments these are (segments, extent of each), and
/// the order of elements stays. Of other parts they are (shares, extent of one): a share has an equal piece
/// of each part, one piece behind the other, so that there are as many shares as the axis has members.
struct DimForm {
  int64_t inner = 0;            ///< the extent of the second dimension; 0: the dimension stays one
  DenseI64ArrayAttr parts = {}; ///< the extents of parts; null of equal segments

  bool isTwo() const { return inner != 0; }
  bool operator==(const DimForm &other) const { return inner == other.inner && parts == other.parts; }
  bool operator!=(const DimForm &other) const { return !(*this == other); }
};

/// The form of a dimension that is `factor` times as long, each element being so many.
DimForm multiply(DimForm form, int64_t factor);

/// How each dimension of a tensor is written.
using Form = SmallVector<DimForm>;

/// Whether some dimension is written as two.
bool hasSegments(ArrayRef<DimForm> form);

/// The dimension that dimension `dim` is, or begins with, in a tensor of that form.
int64_t getPosition(ArrayRef<DimForm> form, int64_t dim);

/// The type with two dimensions in the place of each that is written so.
RankedTensorType expandSegments(RankedTensorType type, ArrayRef<DimForm> form);

/// The form of `size` elements from `offset` on of a dimension of `extent` elements that is parts; nothing if
/// these are no parts of it. One part has the order of equal segments.
std::optional<DimForm> getRangeForm(DimForm form, int64_t extent, int64_t offset, int64_t size);

/// Whether an argument has its segments between steps, too: a state, or what arrives so from another step.
bool keepsSegments(BlockArgument argument);

/// Whether every element of a tensor is the same, made by an op that can make it in any shape: what is shared
/// by ops that have nothing else in common.
bool isSameEverywhere(Value tensor);

/// The segments of a function's tensors.
class Segments {
public:
  /// Those that parameters have a part in and that one of `axisSizes` divides.
  Segments(func::FuncOp function, ArrayRef<int64_t> axisSizes);

  bool isEmpty() const { return forms.empty(); }
  Form getForm(Value tensor) const;

private:
  DenseMap<Value, Form> forms; ///< of the tensors that have segments
};

} // namespace mlir::epl
