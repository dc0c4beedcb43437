#include "runtime/session/Slots.h"

#include "runtime/plan/model/Outside.h"
#include "runtime/plan/model/SharedStates.h"

#include <algorithm>

namespace epl::runtime {

Slots::Slots(const LoadedPlan &plan, bool keepsResults) : plan(plan), keepsResults(keepsResults) {
  const auto &slots = plan.plan().slots;
  auto isBehind = [](const auto &slot) { return isResult(*slot); };
  updates.assign(size_t(std::ranges::find_if(slots, isBehind) - slots.begin()), -1);
  for (size_t slot = updates.size(); slot < slots.size(); ++slot)
    if (slots[slot]->updates >= 0)
      updates[slots[slot]->updates] = int32_t(slot);
  partSlots.resize(slots.size());
  for (uint32_t part = 0; part < plan.numPrograms(); ++part)
    layOut(part);
  for (size_t slot = 0; slot < slots.size(); ++slot)
    kinds.push_back(findKind(slot));
  for (size_t slot = 0; slot < slots.size(); ++slot)
    shared.push_back(slot < numArguments() && updates[slot] < 0 && kinds[slot]->isShareable());
  for (uint32_t part = 0; part < plan.numPrograms(); ++part)
    findShared(part);
}

/// States that a part updates. A process that has some of the ranks does not see what the others read.
void Slots::findShared(uint32_t part) {
  const Program &program = plan.program(part);
  bool isWhole = program.ranks().size() == program.topology().size();
  std::optional<Order> order;
  for (const SharedState &state : sharedStatesOf(program.plan())) {
    size_t slot = wholeSlot({part, state.slot});
    if (kinds[slot]->pieces.size() != 1 || !kinds[slot]->isShareable())
      continue;
    if (state.writes.empty()) {
      shared[slot] = !program.ranks().empty();
    } else if (isWhole) {
      if (!order)
        order = Order::of(program.plan());
      shared[slot] = isOrdered(state, *order);
    }
  }
}

std::shared_ptr<const StorageKind> Slots::findKind(size_t slot) {
  auto kind =
      std::make_shared<StorageKind>(StorageKind{plan.devices(), {}, plan.plan().slots[slot]->in_host});
  bool isBatch = plan.plan().slots[slot]->role == plan::SlotRole::batch;
  for (PartSlot own : partsOf(slot).first(isBatch ? 1 : partsOf(slot).size())) {
    parts[own.part][own.slot].piece = uint32_t(kind->pieces.size());
    kind->pieces.emplace_back(layout(own), ranksOf(own.part), devicesOf(own.part));
  }
  return kind;
}

RankDevices Slots::ranksOf(uint32_t part) const {
  RankDevices ranks(plan.program(part).topology().size());
  for (uint32_t rank : plan.program(part).ranks())
    ranks[rank] = plan.ranks().device(part, rank);
  return ranks;
}

std::vector<uint32_t> Slots::devicesOf(uint32_t part) const {
  std::vector<uint32_t> devices;
  devices.reserve(plan.ranks().count(part));
  for (uint32_t rank = 0; rank < plan.ranks().count(part); ++rank)
    devices.push_back(plan.ranks().device(part, rank));
  return devices;
}

void Slots::layOut(uint32_t part) {
  const Program &program = plan.program(part);
  std::vector<Held> &own = parts.emplace_back();
  own.reserve(program.plan().slots.size());
  for (uint32_t index = 0; index < program.plan().slots.size(); ++index) {
    const plan::SlotT &slot = *program.plan().slots[index];
    SlotLayout layout(program.plan(), slot, program.topology());
    bool isDirect = plan.devices()->usesHostMemory() && layout.isContiguous();
    own.push_back({std::move(layout), isDirect, !isResult(slot)});
    partSlots[wholeSlot({part, index})].push_back({part, index});
  }
}

} // namespace epl::runtime
