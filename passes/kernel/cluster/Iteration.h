//===- Iteration.h - How an op iterates and reads ------------------*- C++ -*-===//
//
// A fused kernel is one loop nest: rows outside, the elements of a row inside. Ops may share it if they
// iterate over the same domain, or over its rows, and read each other's values where they make them. Loops
// and dimensions of extent 1 count for nothing here: 128x1 is a column of 128 rows, as 128 is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::epl {

/// A tensor that an op reads, directly or through clones and views.
struct Read {
  Value source;
  /// For each dimension of the source, extents of 1 left out, the loop that walks it.
  SmallVector<unsigned> loops;
  /// False if no such mapping of dimensions to loops exists, or if it may not be read while it is made.
  bool regular = true;

  /// Whether it reads what the first loops, and no others, point at: the value of a row, or of an element.
  bool isPrefix() const;
};

/// The loops of an op, outermost first as memory has them.
struct Iteration {
  enum class Kind {
    pointwise,    ///< a value for each iteration
    rowReduction, ///< reduces the loops from `split` on
    colReduction, ///< reduces the loops up to `split`
    opaque        ///< fits no common loop nest
  };
  Kind kind = Kind::opaque;
  SmallVector<int64_t> shape;
  unsigned split = 0;
  SmallVector<Read> reads;
};

/// The iteration of an op whose role is fusion. `reads` is complete for opaque ops also.
Iteration getIteration(Operation *op);

} // namespace mlir::epl
