#include "runtime/plan/model/Owners.h"

#include <optional>

namespace epl::runtime {

/// The member from which all others have a value of these origins, as it is or copied once more.
static std::optional<uint32_t> rootOf(const plan::PlanT &plan, const std::vector<plan::Origin> &origins) {
  for (const plan::Origin &origin : origins) {
    if (origin.command() < 0)
      continue;
    const plan::CommandT &writer = *plan.commands[size_t(origin.command())];
    if (const plan::CopyFromRootT *copy = writer.action.AsCopyFromRoot())
      return copy->root;
    if (writer.action.AsCopy())
      if (std::optional<uint32_t> root = rootOf(plan, writer.origins))
        return root;
  }
  return std::nullopt;
}

std::vector<StateOwner> stateOwnersOf(const plan::PlanT &plan) {
  std::vector<StateOwner> owners;
  for (const auto &slot : plan.slots)
    if (slot->updates >= 0)
      if (std::optional<uint32_t> member =
              slot->owner ? std::optional(slot->owner->member()) : rootOf(plan, slot->origins))
        owners.push_back({uint32_t(slot->updates), *member});
  return owners;
}

} // namespace epl::runtime
