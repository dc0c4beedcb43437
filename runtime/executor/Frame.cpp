#include "runtime/executor/Frame.h"

namespace epl::runtime {

Frame::Mesh::Mesh(const Program &program)
    : addresses(program.topology().size(), program.plan().buffers.size()),
      numRanks(program.topology().size()), numLanes(program.plan().lanes.size()),
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
}

/// State has storage of its own. An argument from the host needs scratch if it is not contiguous there; a
/// result also on the ranks that hold a block that another rank gives.
void Frame::Mesh::makeScratch(const Program &program) {
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

Frame::Frame(const LoadedPlan &plan, uint32_t numWorkers)
    : workers(numWorkers), trace(numWorkers), numDevices(plan.numDevices()) {
  size_t numPointers = 0;
  for (uint32_t part = 0; part < plan.numPrograms(); ++part) {
    meshes.emplace_back(plan.program(part));
    numPointers = std::max(numPointers, plan.program(part).actions().numPointers());
  }
  for (Worker &worker : workers)
    worker.pointers.resize(numPointers);
  deal(plan);
}

/// Neighbouring devices go to one worker, whatever meshes they are of.
void Frame::deal(const LoadedPlan &plan) {
  for (uint32_t part = 0; part < plan.numPrograms(); ++part) {
    const Program &program = plan.program(part);
    for (uint32_t rank = 0; rank < program.topology().size(); ++rank) {
      Worker &worker = workers[workerOf(plan.device(part, rank))];
      Cursor &cursor = worker.cursors.emplace_back(Cursor{program, meshes[part], rank, {}});
      for (const auto &lane : program.plan().lanes)
        cursor.lanes.push_back({lane->commands});
    }
  }
}

void Frame::beginStep() {
  for (Mesh &mesh : meshes)
    mesh.beginStep();
  for (Worker &worker : workers)
    worker.isPrepared = false;
}

} // namespace epl::runtime
