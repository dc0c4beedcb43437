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
  argumentStages.resize(memory.size());
  resultStages.resize(memory.size());
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
    if (plan.slots[slot]->role == plan::SlotRole::state ||
        (plan.slots[slot]->role == plan::SlotRole::result && slots.isKept(slots.wholeSlot({part, slot}))))
      continue; // it has storage of its own
    for (uint32_t rank : loaded.program(part).ranks())
      if (!slots.isDirect({part, slot}, rank))
        allocate(loaded, slots, {part, slot}, rank);
  }
}

void SlotMemory::allocate(const LoadedPlan &loaded, const Slots &slots, Slots::PartSlot slot, uint32_t rank) {
  size_t index = slot.slot * numRanks + rank, size = slots.layout(slot).localBytes();
  uint32_t device = loaded.ranks().device(slot.part, rank);
  memory[index] = loaded.devices()->allocate(device, size, Memory::Fill::zeros);
  if (loaded.program(slot.part).plan().slots[slot.slot]->role != plan::SlotRole::result)
    argumentStages[index] = loaded.devices()->stageArgument(device, size);
  else if (slots.gives(slot, rank))
    resultStages[index] = loaded.devices()->stageResult(device, size);
}

} // namespace epl::runtime
