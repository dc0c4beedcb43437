#include "runtime/plan/model/Outside.h"

#include "runtime/plan/model/Parts.h"

#include <algorithm>

namespace epl::runtime {

bool hasOutside(const plan::PlanT &plan) {
  return std::ranges::any_of(plan.slots, [](const auto &slot) {
    return slot->role == plan::SlotRole::pulled || slot->role == plan::SlotRole::pushed;
  });
}

int32_t outsideSlotOf(const plan::PlanT &plan, const plan::CommandT &command) {
  if (const plan::PullT *pull = command.action.AsPull())
    return plan.buffers[pull->target]->slot;
  const plan::PushT *push = command.action.AsPush();
  return push ? plan.buffers[push->source]->slot : -1;
}

std::vector<uint32_t> pulledSlotsOf(const plan::PlanT &plan) {
  std::vector<uint32_t> slots;
  std::vector<const plan::PlanT *> plans = meshPlansOf(plan);
  for (size_t part = 0; part < plans.size(); ++part)
    for (const auto &command : plans[part]->commands) {
      if (!command->action.AsPull())
        continue;
      auto own = uint32_t(outsideSlotOf(*plans[part], *command));
      uint32_t slot = plan.parts.empty() ? own : plan.parts[part]->slots[own];
      if (std::ranges::find(slots, slot) == slots.end())
        slots.push_back(slot);
    }
  return slots;
}

} // namespace epl::runtime
