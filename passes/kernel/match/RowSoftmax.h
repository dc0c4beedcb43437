//===- RowSoftmax.h - The softmax between the products of attention -*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// softmax(scale * x) along rows. With `isCausal`, element (i, j) is 0 where j > i.
struct RowSoftmax {
  double scale;
  bool isCausal;
};

/// What a kernel makes of its one input, matrices of f32 that lie one behind the other, if it is nothing but
/// a softmax along the rows of each, rounded to a narrower type.
std::optional<RowSoftmax> matchRowSoftmax(KernelOp kernel, int64_t rows, int64_t columns);

} // namespace mlir::epl
