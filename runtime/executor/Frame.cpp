#include "runtime/executor/Frame.h"

namespace epl::runtime {

Frame::Frame(const Program &program, uint32_t numWorkers)
    : addresses(program.topology().size(), program.plan().buffers.size()), workers(numWorkers),
      trace(numWorkers), numRanks(program.topology().size()), numLanes(program.plan().lanes.size()),
      progress(new Progress[numRanks * numLanes]) {
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

void Frame::beginStep() {
  epoch += uint64_t(1) << 32;
  for (Worker &worker : workers)
    worker.isPrepared = false;
}

void Frame::makeWorker(const Program &program, uint32_t worker) {
  Worker &self = workers[worker];
  self.pointers.resize(program.actions().numPointers());
  for (uint32_t rank = 0; rank < numRanks; ++rank) {
    if (workerOf(rank) != worker)
      continue;
    Cursor &cursor = self.cursors.emplace_back(Cursor{rank, {}});
    for (const auto &lane : program.plan().lanes)
      cursor.lanes.push_back({lane->commands});
  }
}

} // namespace epl::runtime
