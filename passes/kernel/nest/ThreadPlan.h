//===- ThreadPlan.h - How threads of a GPU share a plan's loops ----*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/FusionPlan.h"

namespace mlir::epl {

/// A result of a reduction over the rows of a nest, to which each row adds.
struct RowSum {
  Stage *stage;
  Root *root;
  unsigned result;

  Value getValue() const { return root->values[result]; }
  RankedTensorType getType() const { return cast<RankedTensorType>(getValue().getType()); }
  Operation *getCombiner() const { return matchCombiner(root->reduction, result); }
};
SmallVector<RowSum> getRowSums(Nest &nest);

/// A launch of a kernel: all of its threads, and what they do.
///
///   chunks   a block runs a chunk of the elements of a nest; those of several nests are laid end to end
///   rows     a group of threads runs one row of the nest after another. Where rows are added up, a block has
///            a strip of rows, which its groups run in turn; the sums of a strip go to the workspace
///   strips   a block adds up, for some elements of the nest's sums, what all strips have
///
/// Where rows that are added up are long, a slice is a strip of some of their columns:
///
///   slice 0   rows [0, slice)           of columns [0, columns)
///   slice 1   rows [slice, 2 * slice)   ..
///   ..        and behind the last strip the first one of the next columns
struct ThreadPhase {
  enum class Kind { chunks, rows, strips } kind;
  Nest *nest = nullptr;  ///< of rows and strips
  int64_t group = 1;     ///< threads that run a row, or a chunk, together
  int64_t groups = 1;    ///< of a block that share a slice
  int64_t run = 1;       ///< elements that a thread takes at once, which follow one another
  int64_t mostLanes = 1; ///< elements of a thread in one step
  /// Elements of a nest; chunks of several; rows, for each part of columns whole strips of them; blocks of
  /// elements of sums.
  int64_t extent = 1;
  int64_t slice = 1;   ///< elements of a chunk, rows of a strip, or rows that a group takes one after another
  int64_t columns = 0; ///< of a slice; 0: rows are whole
  bool isBlock = true; ///< whether the threads that share a slice are a block, which then has a barrier

  /// That share a slice.
  int64_t getThreads() const { return group * groups; }
  int64_t getSlices() const { return std::max<int64_t>(llvm::divideCeil(extent, slice), 1); }
  int64_t getBlockThreads() const;
  int64_t getBlocks() const { return llvm::divideCeil(getSlices(), getBlockThreads() / getThreads()); }
  int64_t getStrips() const { return llvm::divideCeil(nest->rows, slice); }
  /// Whether one slice has all rows: its sums are results.
  bool isWhole() const { return getSlices() == 1; }
};

/// Blocks of a grid are numbered with 31 bits.
constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();

/// Bits of a thread's access.
constexpr int64_t kAccessBits = 128;

/// Threads of a block that adds up strips, and how many of them have an element each of `elements` that
/// follow one another; the others share the strips.
constexpr int64_t kStripThreads = 256;
int64_t getStripElements(int64_t elements);

/// The launches that together run a plan, one after another; none if parts of its loops can't be shared: then
/// each thread runs slices of its own. `inPlace` holds for each result the input that shares its storage, or
/// -1.
SmallVector<ThreadPhase> planThreads(FusionPlan &plan, ArrayRef<int32_t> inPlace);

} // namespace mlir::epl
