//===- ContractionTiling.h - How a contraction is cut into tiles ---*- C++ -*-===//
#pragma once

#include "passes/kernel/match/ContractionLoops.h"

namespace mlir::epl {

/// An operand that is copied to where the vector's loop is contiguous: for each of its loops the extent, and
/// the strides of what is copied and of the copy.
struct Packing {
  struct Dim {
    int64_t extent, from, to;
  };
  SmallVector<Dim> dims; ///< in the order of the copy, the vector's last
  int64_t size = 0;      ///< elements of the copy; 0: the operand stays where it is

  explicit operator bool() const { return size != 0; }
};

/// A tile is some rows times some vectors of the result. It stays in registers while the innermost reductions
/// run: each step loads the vectors of b once, and of a one element (or vectors) per row. Loops are in the
/// strides of the packed operands.
struct ContractionTiling {
  StridedContraction contraction; ///< b is the operand that the vector's loop walks
  Packing packB, packC;
  int64_t lanes;          ///< of a vector
  int64_t vectors;        ///< of a tile, at most
  ContractionLoop vector; ///< along lanes; b and c are 1, a is 0 or 1
  ContractionLoop rows;   ///< of tiles
  int64_t rowsPerTile;    ///< at most
  /// More rows: each tile has all of theirs.
  SmallVector<ContractionLoop> wholeRows;
  /// The other loops, outside to inside: parallel ones, between them reductions whose sums wait in memory.
  SmallVector<ContractionLoop> outer, sums, inner;
  /// Reductions whose sums stay in registers.
  SmallVector<ContractionLoop> registerSums;
};

/// All parts of a contraction, tiled.
struct TiledContraction {
  std::vector<ContractionTiling> parts;
  bool coversResult; ///< false: some elements are in no part
};

/// The tiling of `contraction` for registers of `vectorBits`. Nothing if no loop makes good vectors, or for
/// types that registers do not multiply.
std::optional<ContractionTiling> tileContraction(StridedContraction contraction, unsigned vectorBits);
/// The same for all parts; nothing if one has none.
std::optional<TiledContraction> tileParts(const ContractionParts &contraction, unsigned vectorBits);

} // namespace mlir::epl
