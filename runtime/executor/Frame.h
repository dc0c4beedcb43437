// The memory in which the steps of a session run, one after another.
#ifndef EPL_RUNTIME_EXECUTOR_FRAME_H
#define EPL_RUNTIME_EXECUTOR_FRAME_H

#include "runtime/device/cpu/Memory.h"
#include "runtime/executor/Trace.h"

namespace epl::runtime {

/// Everything that a step changes besides arguments and results; made once, so that steps allocate nothing.
class Frame {
public:
  /// The place of a worker in one lane of one of its ranks.
  struct Cursor {
    uint32_t rank;
    std::span<const uint32_t> commands;
    size_t next;
  };
  /// What one worker uses: the lanes of its ranks, those that communicate first, and room for pointers.
  struct Worker {
    uint32_t firstRank, endRank;
    std::vector<Cursor> cursors;
    std::vector<void *> pointers;
  };
  /// A buffer that is a slot.
  struct SlotBuffer {
    uint32_t buffer, slot;
  };

  Frame(const Program &program, uint32_t numWorkers);

  uint32_t numWorkers() const { return uint32_t(workers.size()); }
  uint32_t workerOf(uint32_t rank) const { return uint32_t(uint64_t(rank) * workers.size() / numRanks); }

  /// How many instances that the instance of `command` on `rank` waits for have run, over all steps since
  /// `resetArrivals`. Counting on from step to step saves the zeroing between them.
  std::atomic<uint32_t> &arrivals(uint32_t rank, uint32_t command) {
    return counters[size_t(rank) * rowSize + command];
  }
  void resetArrivals();

  /// Memory of a slot on a rank whose block cannot be in the caller's tensor.
  std::byte *scratch(uint32_t slot, uint32_t rank) const {
    return slotScratch[slot * numRanks + rank].data();
  }

  AddressTable addresses;
  std::vector<SlotBuffer> slotBuffers;
  std::vector<Worker> workers;
  Trace trace;
  uint32_t generation = 0; // steps since resetArrivals, the running one included

private:
  void makeScratch(const Program &program);
  void makeWorker(const Program &program, uint32_t worker);

  uint32_t numRanks;
  size_t rowSize;
  std::unique_ptr<std::atomic<uint32_t>[]> counters;
  std::vector<Memory> arenas, slotScratch;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_FRAME_H
