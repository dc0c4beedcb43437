#include "runtime/session/SlotMemory.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Outside.h"
#include "runtime/session/BlockCopies.h"

namespace epl::runtime {

SlotMemory::SlotMemory(const LoadedPlan &plan, uint32_t part, const Slots &slots)
    : loaded(plan), part(part), slots(slots), numRanks(plan.program(part).topology().size()) {
  const plan::PlanT &own = loaded.program(part).plan();
  for (uint32_t buffer = 0; buffer < own.buffers.size(); ++buffer)
    if (BufferPlace place = placeOf(own, buffer); place.slot >= 0)
      slotBuffers.push_back({buffer, uint32_t(place.slot), place.offset});
  memory.resize(own.slots.size() * numRanks);
  argumentStages.resize(memory.size());
  resultStages.resize(memory.size());
  for (uint32_t slot = 0; slot < own.slots.size(); ++slot)
    if (isResult(*own.slots[slot]) && !slots.isKept(slots.wholeSlot({part, slot})))
      provide(slot);
}

void SlotMemory::provide(uint32_t slot) {
  for (uint32_t rank : loaded.program(part).ranks())
    if (!memory[slot * numRanks + rank] && !slots.isDirect({part, slot}, rank))
      allocate(slot, rank);
}

void SlotMemory::giveTo(std::byte *whole, uint32_t slot, uint32_t rank) const {
  const SlotLayout &layout = slots.layout({part, slot});
  if (const ResultStage *stage = resultStage(slot, rank))
    layout.copyToGlobal(rank, stage->host(), whole);
  else if (!slots.isDirect({part, slot}, rank))
    copyOut(*loaded.devices(), layout, rank, scratch(slot, rank), whole);
}

void SlotMemory::allocate(uint32_t slot, uint32_t rank) {
  size_t index = slot * numRanks + rank, size = slots.layout({part, slot}).localBytes();
  uint32_t device = loaded.ranks().device(part, rank);
  const plan::SlotT &held = *loaded.program(part).plan().slots[slot];
  if (held.in_host) {
    memory[index] = loaded.devices()->allocateInHost(device, size);
    return;
  }
  if (!isResult(held))
    argumentStages[index] = loaded.devices()->stageArgument(device, size);
  else if (slots.gives({part, slot}, rank))
    resultStages[index] = loaded.devices()->stageResult(device, size);
  memory[index] = loaded.devices()->allocate(device, size, Memory::Fill::zeros);
}

} // namespace epl::runtime
