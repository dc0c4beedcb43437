//===- RowGradient.h - The gradient of the softmax of attention -*- C++ -*-===//
#pragma once

#include "passes/kernel/match/RowPolynomial.h"

namespace mlir::epl {

/// The arguments of a kernel that may be the gradient of a softmax.
struct RowGradientArguments {
  unsigned gradient;                           ///< that of the softmax
  SmallVector<std::optional<RowValue>> values; ///< of each argument what the softmax has made, if it has
  bool isCausal;                               ///< the softmax
};

/// The factor by which a kernel of one result multiplies the gradient of what its softmax is of, for matrices
/// that lie one behind the other, if it makes nothing but that of the gradient of the softmax.
std::optional<double> matchRowGradient(KernelOp kernel, const RowGradientArguments &arguments, int64_t rows,
                                       int64_t columns, const MaskOf &maskOf);

} // namespace mlir::epl
