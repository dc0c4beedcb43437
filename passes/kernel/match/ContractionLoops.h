//===- ContractionLoops.h - The loops of a contraction, as strides -*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <vector>

namespace mlir::epl {

/// A loop and the distance, in elements, between its iterations in each operand; 0 where it is absent.
struct ContractionLoop {
  int64_t extent, a, b, c;

  bool isReduction() const { return !c; }
  /// Whether it is m, or n, in a library's terms: along the rows, or columns, of a product.
  bool isM() const { return a && !b && c; }
  bool isN() const { return !a && b && c; }
};

/// What a kernel of one contraction is to memory: c[...] += a[...] * b[...] over strided loops. Matrix
/// products and convolutions (strided, dilated, grouped, and their gradients) differ in nothing but strides.
struct StridedContraction {
  Type element;            ///< of the result
  Type elementA, elementB; ///< of the operands: that of the result, or floats that are widened to it
  unsigned a, b;           ///< arguments of the kernel
  bool isLogical;          ///< ands and ors instead of products and sums
  int64_t offsetA, offsetB, offsetC; ///< of the first elements
  /// Outer loops first; those of extent 1 left out, neighbours that continue each other merged. No two
  /// iterations of the loops that are not reductions name one element of c.
  SmallVector<ContractionLoop> loops;
  /// The argument that the sums start from, or the number.
  std::optional<unsigned> init;
  TypedAttr fill;

  /// The type of products and sums: f32 for narrow floats, else the result's.
  Type getSumType() const;
};

/// The contraction that a kernel is, in parts for different elements of the result.
struct ContractionParts {
  std::vector<StridedContraction> parts; ///< at least one
  bool coversResult;                     ///< false: some elements are in no part, they are `fill`
};

/// What a kernel of kind contraction computes, if it is one op that multiplies and adds, in one type,
/// elements of two tensors, each of which may be dilated. Null if it is something else, or empty.
linalg::GenericOp getContraction(KernelOp kernel);

/// The dilation that makes `value`, or null.
tensor::InsertSliceOp getDilation(Value value);

/// The contraction that `kernel` is: only multiplies and adds, of elements that have the result's type or are
/// widened to it. It is one part but for dilated operands (`isDilation`), whose zeros no part reads. Nothing
/// if it is something else, or empty.
std::optional<ContractionParts> matchContraction(KernelOp kernel);

/// The iterations of all loops, or of those that have a `stride` in one operand.
int64_t getVolume(ArrayRef<ContractionLoop> loops, int64_t ContractionLoop::*stride = nullptr);

/// `loops` in the order of memory, neighbours that continue each other in every operand as one.
SmallVector<ContractionLoop> mergeLoops(SmallVector<ContractionLoop> loops);

} // namespace mlir::epl
