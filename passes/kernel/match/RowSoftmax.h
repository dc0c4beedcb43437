//===- RowSoftmax.h - The softmax between the products of attention -*- C++ -*-===//
#pragma once

#include "passes/kernel/match/RowPolynomial.h"

namespace mlir::epl {

/// softmax(scale * x) along rows. With `isCausal`, element (i, j) is 0 where j > i.
struct RowSoftmax {
  double scale;
  bool isCausal;
  SmallVector<RowValue> results; ///< of the kernel
};

/// What a kernel makes of its argument `scores`, matrices that lie one behind the other, if it is nothing but
/// a softmax along the rows of each, in 16 bits as result `rounded`.
std::optional<RowSoftmax> matchRowSoftmax(KernelOp kernel, unsigned scores, unsigned rounded, int64_t rows,
                                          int64_t columns, const MaskOf &maskOf);

/// What a kernel makes as `result` of the elements of matrices, if that depends on their positions alone:
/// true up to the diagonal of each, or true beyond it.
std::optional<bool> matchCausalMask(KernelOp kernel, unsigned result, int64_t rows, int64_t columns);

} // namespace mlir::epl
