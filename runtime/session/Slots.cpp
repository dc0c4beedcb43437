#include "runtime/session/Slots.h"

#include <algorithm>

namespace epl::runtime {

Slots::Slots(const LoadedPlan &plan) : plan(plan) {
  const auto &slots = plan.plan().slots;
  auto isResult = [](const auto &slot) { return slot->role == plan::SlotRole::result; };
  updates.assign(size_t(std::ranges::find_if(slots, isResult) - slots.begin()), -1);
  for (size_t slot = updates.size(); slot < slots.size(); ++slot)
    if (slots[slot]->updates >= 0)
      updates[slots[slot]->updates] = int32_t(slot);
  partSlots.resize(slots.size());
  for (uint32_t part = 0; part < plan.numPrograms(); ++part)
    layOut(part);
}

void Slots::layOut(uint32_t part) {
  const Program &program = plan.program(part);
  std::vector<SlotLayout> &own = layouts.emplace_back();
  own.reserve(program.plan().slots.size());
  for (uint32_t slot = 0; slot < program.plan().slots.size(); ++slot) {
    own.emplace_back(program.plan(), *program.plan().slots[slot], program.topology());
    partSlots[wholeSlot({part, slot})].push_back({part, slot});
  }
}

} // namespace epl::runtime
