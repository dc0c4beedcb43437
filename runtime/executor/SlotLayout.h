// Where the ranks' parts of a slot lie in its global tensor.
#ifndef EPL_RUNTIME_EXECUTOR_SLOTLAYOUT_H
#define EPL_RUNTIME_EXECUTOR_SLOTLAYOUT_H

#include "runtime/executor/Topology.h"

#include <cstddef>

namespace epl::runtime {

/// The part of a slot's global tensor (row-major) that every rank holds, as a strided block of bytes. Blocks
/// of all ranks have one shape and differ in their offset.
class SlotLayout {
public:
  SlotLayout(const plan::PlanT &plan, const plan::SlotT &slot, const Topology &topology);

  size_t globalBytes() const { return allBytes; }
  size_t localBytes() const { return rankBytes; }

  /// Whether a rank's block is one run of bytes in the global tensor: then no copy is needed.
  bool isContiguous() const { return loops.empty(); }
  /// Whether every rank holds the whole tensor.
  bool isReplicated() const { return rankBytes == allBytes; }
  /// Whether `rank` is the first of those that hold its block: the one that gives a result's block.
  bool isPrimary(uint32_t rank) const { return primary[rank]; }

  /// First byte of a rank's block in the global tensor.
  size_t offset(uint32_t rank) const { return offsets[rank]; }

  /// Copies a rank's block out of the global tensor into its contiguous local storage, and back.
  void copyToLocal(uint32_t rank, const std::byte *global, std::byte *local) const;
  void copyToGlobal(uint32_t rank, const std::byte *local, std::byte *global) const;

  /// Whether every rank holds the same block under both.
  bool operator==(const SlotLayout &other) const = default;

private:
  /// One loop of the strided copy, outermost first; the stride is in the global tensor.
  struct Loop {
    size_t extent, stride;
    bool operator==(const Loop &) const = default;
  };

  void addLoop(size_t extent, size_t stride);
  void foldRuns();
  template <typename CopyRun> void forEachRun(CopyRun copyRun) const;

  size_t allBytes, rankBytes;
  size_t runBytes; // contiguous in both
  std::vector<Loop> loops;
  std::vector<size_t> offsets;
  std::vector<bool> primary;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_SLOTLAYOUT_H
