#include "runtime/session/ResultMessages.h"

#include <set>

namespace epl::runtime {

/// The processes that have a rank of a part, ascending.
static std::set<uint32_t> holdersOf(const LoadedPlan &plan, const Processes &processes, uint32_t part) {
  std::set<uint32_t> holders;
  for (uint32_t rank = 0; rank < plan.ranks().count(part); ++rank)
    holders.insert(processes.of(plan.ranks().device(part, rank)));
  return holders;
}

ResultMessages::ResultMessages(const LoadedPlan &plan, const Slots &slots, const ProcessGroup &group,
                               std::shared_ptr<Transport> transport)
    : plan(plan), transport(std::move(transport)) {
  Processes processes{group.process(), plan.ranks().numDevices()};
  for (size_t slot = slots.numArguments(); slot < slots.size(); ++slot) {
    if (slots.isKept(slot) || bytesOf(slot) == 0)
      continue;
    std::set<uint32_t> holders = holdersOf(plan, processes, slots.ownerOf(slot).part);
    uint32_t sender = *holders.begin();
    for (uint32_t process = 0; process < group.numProcesses(); ++process)
      if (holders.contains(process))
        continue;
      else if (sender == processes.own)
        sent.push_back({slot, process, uint32_t(slot)});
      else if (process == processes.own)
        received.push_back({slot, sender, uint32_t(slot)});
  }
}

size_t ResultMessages::bytesOf(size_t slot) const { return TensorType::of(*plan.plan().slots[slot]).bytes(); }

void ResultMessages::begin(const std::function<std::byte *(size_t slot)> &addressOf) {
  left.store(uint32_t(sent.size() + received.size()), std::memory_order_relaxed);
  for (const Message &message : received)
    transport->receive(message.process, message.number, {addressOf(message.slot), bytesOf(message.slot)},
                       left);
}

void ResultMessages::send(size_t slot, const std::byte *tensor) {
  for (const Message &message : sent)
    if (message.slot == slot)
      transport->send(message.process, message.number, {tensor, bytesOf(slot)}, left);
}

bool ResultMessages::haveMoved() {
  if (left.load(std::memory_order_acquire) == 0)
    return true;
  transport->progress();
  return left.load(std::memory_order_acquire) == 0;
}

bool ResultMessages::cancel() {
  bool isLetGo = transport->cancel(left);
  left.store(0, std::memory_order_relaxed);
  return isLetGo;
}

} // namespace epl::runtime
