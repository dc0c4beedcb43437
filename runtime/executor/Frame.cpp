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
    if (source.slot < 0)
      for (uint32_t rank = 0; rank < numRanks; ++rank)
        addresses.set(rank, buffer, arenas[rank].data() + source.offset);
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
