//===- TransposeNest.h - Tiled transposes of a kernel --------------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// A kernel that copies a [batches, rows, columns] tensor to a [batches, columns, rows] one, whatever more
/// dimensions its tensors have.
struct Transpose {
  int64_t batches, rows, columns;
  int64_t tile;   ///< edge of the square that is transposed in registers
  int64_t extent; ///< slices: blocks of columns of all batches
};

/// The transpose that `kernel` is. Nothing if it is something else, or if tiles for vectors of `vectorBits`
/// would be larger than the matrix.
std::optional<Transpose> matchTranspose(KernelOp kernel, unsigned vectorBits);

/// Fills `function` with the loops of `transpose`.
void emitTransposeNest(const Transpose &transpose, KernelFunction &function);

} // namespace mlir::epl
