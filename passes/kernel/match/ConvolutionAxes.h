//===- ConvolutionAxes.h - The axes of a convolution ---------------*- C++ -*-===//
#pragma once

#include "passes/kernel/match/ContractionLoops.h"

#include <array>

namespace mlir::epl {

/// A number for each tensor of a contraction: its two inputs and its result.
using PerTensor = std::array<int64_t, 3>;

/// A loop of a contraction that each tensor walks along a dimension of its own, or not at all: extent and
/// strides, in elements, 0 where a tensor lacks it.
struct PlainLoop {
  int64_t extent;
  PerTensor strides;
};

/// Positions in dimensions of the three tensors, one of each at most, that loops bind to one another:
/// sum over tensors of coefficient * position = constant. All positions within the extents that do so are
/// part of the contraction; beyond an extent there are zeros, if anything.
struct BoundDims {
  PerTensor extents{1, 1, 1}; ///< 1 of a tensor without such a dimension
  PerTensor strides{0, 0, 0}; ///< in elements
  PerTensor coefficients{0, 0, 0};
  int64_t constant = 0;
};

/// A contraction taken apart.
struct ContractionAxes {
  SmallVector<BoundDims> bound;
  SmallVector<PlainLoop> plain; ///< of more than one iteration
};

/// The axes of a contraction whose windows, if any, are one position plus another one. Nothing if a dimension
/// is walked in some other way.
std::optional<ContractionAxes> findAxes(linalg::GenericOp contraction);

} // namespace mlir::epl
