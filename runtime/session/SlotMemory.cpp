#include "runtime/session/SlotMemory.h"

#include "runtime/plan/model/Access.h"

namespace epl::runtime {

SlotMemory::SlotMemory(const LoadedPlan &loaded, uint32_t part, const Slots &slots)
    : numRanks(loaded.program(part).topology().size()) {
  const plan::PlanT &plan = loaded.program(part).plan();
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    if (BufferPlace place = placeOf(plan, buffer); place.slot >= 0)
      slotBuffers.push_back({buffer, uint32_t(place.slot), place.offset});
  memory.resize(plan.slots.size() * numRanks);
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
    if (plan.slots[slot]->role == plan::SlotRole::state ||
        (plan.slots[slot]->role == plan::SlotRole::result && slots.isKept(slots.wholeSlot({part, slot}))))
      continue; // it has storage of its own
    for (uint32_t rank : loaded.program(part).ranks())
      if (!slots.isDirect({part, slot}, rank))
        memory[slot * numRanks + rank] = loaded.devices()->allocate(
            loaded.ranks().device(part, rank), slots.layout({part, slot}).localBytes(), Memory::Fill::zeros);
  }
}

} // namespace epl::runtime
