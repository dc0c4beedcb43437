#include "runtime/executor/Frame.h"

#include "runtime/plan/model/Access.h"

namespace epl::runtime {

Frame::Mesh::Mesh(const LoadedPlan &loaded, uint32_t part)
    : addresses(loaded.program(part).ranks(), loaded.program(part).topology().size(),
                loaded.program(part).plan().buffers.size()),
      rows(loaded.program(part).topology().size()) {
  const plan::PlanT &plan = loaded.program(part).plan();
  std::span<const uint32_t> ranks = loaded.program(part).ranks();
  progress.reset(new Progress[ranks.size() * plan.lanes.size()]);
  for (size_t i = 0; i < ranks.size(); ++i)
    rows[ranks[i]] = &progress[i * plan.lanes.size()];
  allocate(loaded, part);
}

void Frame::Mesh::allocate(const LoadedPlan &loaded, uint32_t part) {
  const plan::PlanT &plan = loaded.program(part).plan();
  std::span<const uint32_t> ranks = loaded.program(part).ranks();
  for (size_t i = arenas.size(); i < ranks.size(); ++i) {
    arenas.push_back(loaded.devices()->allocate(loaded.ranks().device(part, ranks[i]), plan.arena_size,
                                                Memory::Fill::zeros));
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (BufferPlace place = placeOf(plan, buffer); place.slot < 0)
        addresses.set(ranks[i], buffer, arenas.back()->address() + place.offset);
  }
}

Frame::Frame(const LoadedPlan &plan, uint32_t numWorkers) : workers(numWorkers), trace(numWorkers) {
  size_t numPointers = 0;
  for (uint32_t part = 0; part < plan.numPrograms(); ++part) {
    tables.push_back(&meshes.emplace_back(plan, part).addresses);
    deal(plan, part);
    numPointers = std::max(numPointers, plan.program(part).numPointers());
  }
  for (Worker &worker : workers) {
    worker.pointers.resize(numPointers);
    size_t numLanes = 0;
    for (const Cursor &cursor : worker.cursors)
      numLanes += cursor.lanes.size();
    worker.pending.reserve(numLanes);
  }
}

/// Neighbouring devices go to one worker, whatever meshes they are of.
void Frame::deal(const LoadedPlan &plan, uint32_t part) {
  const Program &program = plan.program(part);
  owners.emplace_back(program.topology().size(), numWorkers());
  for (uint32_t rank : program.ranks()) {
    auto place = uint64_t(plan.ranks().place(part, rank));
    uint32_t owner = owners[part][rank] = uint32_t(place * numWorkers() / plan.ranks().numDevices());
    Cursor &cursor = workers[owner].cursors.emplace_back(Cursor{program, meshes[part], rank, {}});
    for (const auto &lane : program.plan().lanes)
      cursor.lanes.push_back({lane->commands});
  }
}

void Frame::allocate(const LoadedPlan &plan) {
  for (uint32_t part = 0; part < meshes.size(); ++part)
    meshes[part].allocate(plan, part);
}

void Frame::release() {
  for (Mesh &mesh : meshes)
    mesh.release();
}

void Frame::beginStep() {
  for (Mesh &mesh : meshes)
    mesh.beginStep();
  for (Worker &worker : workers)
    worker.isPrepared = worker.isCollected = false;
}

} // namespace epl::runtime
