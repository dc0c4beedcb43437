//===- AttentionProducts.h - The products of attention and its gradient -*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include <optional>

namespace mlir::epl {

/// How a tensor of positions by elements, for each sample and head, lies in memory: elements side by side.
struct AttentionLayout {
  SmallVector<int64_t, 2> batch; ///< steps to the next sample, and to the next head, as far as there are such
  int64_t position;

  bool operator==(const AttentionLayout &) const = default;
  /// Three steps, as plans have them: what there is only one of is as if the positions were dense.
  SmallVector<int64_t, 3> getSteps(int64_t positions) const;
};

/// The matrices of pairs of positions, one behind the other: their extents, and how many samples and heads.
struct AttentionPairs {
  int64_t rows, columns;
  SmallVector<int64_t, 2> batch;

  int64_t getNumElements() const;
};

/// A product of matrices of pairs of positions, or their transposed ones, by a tensor: each row of the result
/// adds up positions of the tensor.
struct PairsProduct {
  unsigned tensor;   ///< argument of the kernel
  bool isTransposed; ///< the matrices; else columns are added up
  int64_t width;     ///< elements of each position
  AttentionLayout of, made;
};

/// The product that a kernel does and nothing else, from zero on; nothing if its argument `matrices` is not
/// that, or if there is one row, column or element only.
std::optional<PairsProduct> matchPairsProduct(KernelOp kernel, unsigned matrices,
                                              const AttentionPairs &pairs);

/// The matrices that a product x y^T makes of pairs of positions.
struct PairsOf {
  unsigned x, y; ///< arguments of the kernel: of rows, of columns
  int64_t width;
  AttentionLayout ofX, ofY;
};

/// The same of what makes such matrices.
std::optional<PairsOf> matchPairsOf(KernelOp kernel, const AttentionPairs &pairs);

} // namespace mlir::epl
