//===- SliceVariable.h - How a parameter is cut into blocks -----*- C++ -*-===//
#pragma once

#include "mlir/Support/LLVM.h"

namespace mlir::epl {

/// The elements of each block of a tensor of `shape`, which at most `sliceCount` servers share in blocks of
/// at least `minBlockSize` elements, if there are as many. Blocks of tensors of several dimensions are whole
/// rows. Reference: Fluid's slice_variable.
SmallVector<int64_t> sliceVariable(ArrayRef<int64_t> shape, int64_t sliceCount, int64_t minBlockSize);

} // namespace mlir::epl
