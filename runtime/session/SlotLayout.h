// Where the ranks' parts of a slot lie in its global tensor.
#ifndef EPL_RUNTIME_SESSION_SLOTLAYOUT_H
#define EPL_RUNTIME_SESSION_SLOTLAYOUT_H

#include "runtime/session/Boxes.h"
#include "runtime/session/LocalRange.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace epl::runtime {

/// The part of a slot's global tensor (row-major as the caller has it) that every rank holds, as strided
/// blocks of bytes: one, or several where the caller's order is another one (`caller_parts` of a slot). Of a
/// slot that has some of the caller's rows, the global tensor is that of the caller.
class SlotLayout {
public:
  SlotLayout(const plan::PlanT &plan, const plan::SlotT &slot, const Topology &topology);

  size_t globalBytes() const { return allBytes; }
  size_t localBytes() const { return rankBytes; }

  /// Whether what a rank holds is one run of bytes in the global tensor: then no copy is needed.
  bool isContiguous() const { return contiguous; }
  /// Whether a rank holds any of it: all do, or its owners alone.
  bool isHeldBy(uint32_t rank) const { return holders[rank]; }
  /// Whether each rank that holds some of the tensor holds all of it.
  bool isWhole() const { return rankBytes == allBytes; }
  /// Whether every rank holds the whole tensor.
  bool isReplicated() const { return isWhole() && std::ranges::all_of(holders, std::identity()); }
  /// The first rank of those that hold the same elements as `rank`; itself if it holds nothing.
  uint32_t firstAlike(uint32_t rank) const { return alike[rank]; }

  /// First byte of what a rank holds in the global tensor, where that is contiguous.
  size_t offset(uint32_t rank) const { return blocks[rank].front().global; }

  /// What a rank holds, as boxes of the caller's tensor; see boxesOf.
  const std::optional<std::vector<Box>> &boxes(uint32_t rank) const { return rankBoxes[rank]; }

  /// The same in a tensor that has the rows `begin` to `end` of dimension `dim` alone, for those ranks: what
  /// each of them holds is in boxes, and within these rows.
  SlotLayout within(std::span<const uint32_t> ranks, size_t dim, size_t begin, size_t end) const;

  /// Copies what a rank holds out of the global tensor into its contiguous local storage, and back.
  void copyToLocal(uint32_t rank, const std::byte *global, std::byte *local) const;
  void copyToGlobal(uint32_t rank, const std::byte *local, std::byte *global) const;

  /// Whether every rank holds the same elements, in the same order, under both.
  bool operator==(const SlotLayout &other) const = default;

private:
  /// One loop of a strided copy: its strides in the global tensor and in local storage.
  struct Loop {
    size_t extent, global, local;
    bool operator==(const Loop &) const = default;
  };

  /// Bytes that a loop nest copies, run by run.
  struct Block {
    size_t global = 0, local = 0; // first byte in the global tensor, and in local storage
    size_t run = 0;               // contiguous in both
    std::vector<Loop> loops = {}; // outermost first

    void addLoop(size_t extent, size_t globalStride, size_t localStride);
    void foldRuns();
    template <typename CopyRun> void forEachRun(CopyRun copyRun) const;
    bool operator==(const Block &) const = default;
  };

  static std::vector<Block> blocksOf(const plan::SlotT &slot, std::span<const LocalRange> ranges);
  static void addParts(std::vector<Block> &blocks, const plan::SlotT &slot, const plan::CallerPartsT &parts,
                       std::span<const LocalRange> ranges);

  std::vector<int64_t> shape; // of the global tensor
  size_t elementSize;
  size_t allBytes, rankBytes;
  bool contiguous = true;
  std::vector<bool> holders;                              // whether each rank is one
  std::vector<std::vector<Block>> blocks;                 // of each rank; one at least
  std::vector<std::optional<std::vector<Box>>> rankBoxes; // of each rank
  std::vector<uint32_t> alike;                            // of each rank the first that holds the same
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_SLOTLAYOUT_H
