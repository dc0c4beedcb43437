#include "runtime/executor/Frame.h"

#include <algorithm>

namespace epl::runtime {

// Counters of different ranks share no cache line.
static constexpr size_t kCountersPerLine = 64 / sizeof(std::atomic<uint32_t>);

Frame::Frame(const Program &program, uint32_t numWorkers)
    : addresses(program.topology().size(), program.plan().buffers.size()), workers(numWorkers),
      trace(numWorkers), numRanks(program.topology().size()),
      rowSize((program.plan().commands.size() + kCountersPerLine - 1) / kCountersPerLine * kCountersPerLine),
      counters(new std::atomic<uint32_t>[numRanks * rowSize]) {
  resetArrivals();
  for (uint32_t rank = 0; rank < numRanks; ++rank)
    arenas.emplace_back(program.plan().arena_size);
  for (uint32_t buffer = 0; buffer < program.plan().buffers.size(); ++buffer) {
    const plan::BufferT &source = *program.plan().buffers[buffer];
    if (source.slot >= 0)
      slotBuffers.push_back({buffer, uint32_t(source.slot)});
    else
      for (uint32_t rank = 0; rank < numRanks; ++rank)
        addresses.set(rank, buffer, arenas[rank].data() + source.offset);
  }
  makeScratch(program);
  for (uint32_t worker = 0; worker < numWorkers; ++worker)
    makeWorker(program, worker);
}

void Frame::resetArrivals() {
  generation = 0;
  for (size_t i = 0; i < numRanks * rowSize; ++i)
    counters[i].store(0, std::memory_order_relaxed);
}

/// State has storage of its own. An argument from the host needs scratch if it is not contiguous there; a
/// result also on the ranks that hold a block that another rank gives.
void Frame::makeScratch(const Program &program) {
  for (size_t slot = 0; slot < program.numSlots(); ++slot) {
    const plan::SlotT &source = *program.plan().slots[slot];
    const SlotLayout &layout = program.layout(slot);
    bool isResult = source.role == plan::SlotRole::result && source.updates < 0;
    bool isHostArgument = source.role == plan::SlotRole::batch || source.role == plan::SlotRole::constant;
    for (uint32_t rank = 0; rank < numRanks; ++rank) {
      bool needed = (isHostArgument && !layout.isContiguous()) ||
                    (isResult && (!layout.isContiguous() || !layout.isPrimary(rank)));
      slotScratch.emplace_back(needed ? layout.localBytes() : 0);
    }
  }
}

void Frame::makeWorker(const Program &program, uint32_t worker) {
  Worker &self = workers[worker];
  self.firstRank = numRanks;
  self.endRank = 0;
  self.pointers.resize(program.actions().numPointers());
  for (uint32_t rank = 0; rank < numRanks; ++rank) {
    if (workerOf(rank) != worker)
      continue;
    self.firstRank = std::min(self.firstRank, rank);
    self.endRank = rank + 1;
    for (const auto &lane : program.plan().lanes)
      self.cursors.push_back({rank, lane->commands, 0});
  }
  // Others wait for what a rank communicates: look there first.
  auto communicates = [&](size_t lane) {
    return program.plan().lanes[lane]->kind != plan::LaneKind::compute;
  };
  std::vector<Cursor> ordered;
  for (bool first : {true, false})
    for (size_t i = 0; i < self.cursors.size(); ++i)
      if (communicates(i % program.plan().lanes.size()) == first)
        ordered.push_back(self.cursors[i]);
  self.cursors = std::move(ordered);
}

} // namespace epl::runtime
