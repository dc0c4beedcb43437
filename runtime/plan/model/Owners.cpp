#include "runtime/plan/model/Owners.h"

#include <optional>

namespace epl::runtime {

/// The member from which all others have what a result holds.
static std::optional<uint32_t> rootOf(const plan::PlanT &plan, const plan::SlotT &result) {
  if (result.owner)
    return result.owner->member();
  for (const plan::Origin &origin : result.origins)
    if (origin.command() >= 0)
      if (const plan::CopyFromRootT *copy = plan.commands[size_t(origin.command())]->action.AsCopyFromRoot())
        return copy->root;
  return std::nullopt;
}

std::vector<StateOwner> stateOwnersOf(const plan::PlanT &plan) {
  std::vector<StateOwner> owners;
  for (const auto &slot : plan.slots)
    if (slot->updates >= 0)
      if (std::optional<uint32_t> member = rootOf(plan, *slot))
        owners.push_back({uint32_t(slot->updates), *member});
  return owners;
}

} // namespace epl::runtime
