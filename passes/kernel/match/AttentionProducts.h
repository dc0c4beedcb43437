//===- AttentionProducts.h - The products of attention and its gradient -*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include <optional>

namespace mlir::epl {

/// How a tensor of positions by elements, for each matrix of pairs, lies in memory: elements side by side.
struct AttentionLayout {
  SmallVector<int64_t, 3> batch; ///< steps along the loops over the matrices; 0 along that over a group
  int64_t position;

  bool operator==(const AttentionLayout &) const = default;
};

/// The matrices of pairs of positions, one behind the other: their extents, and those of the loops over them.
struct AttentionPairs {
  int64_t rows, columns;
  SmallVector<int64_t, 3> batch;
  /// Which of the loops are over samples, over heads, and over the heads of q that share one of k and v.
  std::optional<unsigned> sample, head, group;

  int64_t getNumElements() const;
  /// Tells loops apart by the layouts of q and o, and of k and v; false if no library has heads like that:
  /// those of a group must stand side by side.
  bool findHeads(ArrayRef<AttentionLayout> ofQueries, ArrayRef<AttentionLayout> ofKeys);
  /// Three steps, as plans have them, to the next sample, head and position: what there is only one of is as
  /// if the positions were dense. Nothing if the tensor, one of queries, lies in another way than q and o.
  std::optional<SmallVector<int64_t, 3>> getSteps(const AttentionLayout &layout, bool isOfQueries) const;
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
