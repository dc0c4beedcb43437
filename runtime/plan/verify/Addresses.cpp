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
}

std::string Addresses::text(const Place &place, uint32_t buffer) const {
  int32_t slot = plan.buffers[buffer]->slot;
  uint64_t base = slot < 0 ? 0 : begins[buffer];
  return "bytes " + rangeText({place.bytes.begin - base, place.bytes.end - base}) + " of " +
         (slot < 0 ? "the arena" : "slot " + slotName(plan, uint32_t(slot))) + " of rank " +
         std::to_string(place.rank);
}

} // namespace epl::runtime
