#include "runtime/plan/verify/Addresses.h"

#include "runtime/plan/model/Names.h"

namespace epl::runtime {

Addresses::Addresses(const plan::PlanT &plan) : plan(plan), buffers(plan.slots.size()), end(plan.arena_size) {
  begins.reserve(plan.buffers.size());
  for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
    const plan::BufferT &buffer = *plan.buffers[i];
    begins.push_back(buffer.slot < 0 ? buffer.offset : end);
    if (buffer.slot < 0)
      continue;
    buffers[size_t(buffer.slot)] = i;
    end += buffer.size;
  }
  for (uint32_t i = 0; i < plan.buffers.size(); ++i)
    if (uint32_t root = rootOf(plan, i); root != i)
      begins[i] = begins[root] + plan.buffers[i]->offset;
}

std::string Addresses::text(const Place &place, uint32_t buffer) const {
  uint32_t root = rootOf(plan, buffer);
  int32_t slot = plan.buffers[root]->slot;
  uint64_t base = slot < 0 ? 0 : begins[root];
  return "bytes " + rangeText({place.bytes.begin - base, place.bytes.end - base}) + " of " +
         (slot < 0 ? "the arena" : "slot " + slotName(plan, uint32_t(slot))) + " of rank " +
         std::to_string(place.rank);
}

} // namespace epl::runtime
