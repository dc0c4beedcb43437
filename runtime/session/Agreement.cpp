#include "runtime/session/Agreement.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime {

Agreement::Agreement(const LoadedPlan &plan, const Slots &slots, const ProcessGroup &group,
                     std::shared_ptr<Transport> transport, uint32_t number)
    : plan(plan), slots(slots), process(group.process()), number(number), transport(std::move(transport)),
      room(std::make_unique<Room>()) {
  for (size_t argument = 0; argument < slots.numArguments(); ++argument)
    compared.push_back(isCompared(argument));
  uint32_t count = group.numProcesses(), next = (process + 1) % count, last = (process + count - 1) % count;
  for (uint32_t neighbour : next == last ? std::vector{next} : std::vector{next, last})
    room->neighbours.push_back({neighbour, std::vector<Said>(compared.size())});
}

/// A state, or what ranks of this process read all of. Of what is split each process reads its own part.
bool Agreement::isCompared(size_t argument) const {
  return plan.plan().slots[argument]->role == plan::SlotRole::state ||
         std::ranges::any_of(slots.partsOf(argument), [&](Slots::PartSlot slot) {
           return slots.layout(slot).isReplicated() && !plan.program(slot.part).ranks().empty();
         });
}

Agreement::Said Agreement::describe(size_t argument, const std::byte *tensor) const {
  if (!compared[argument])
    return {};
  size_t bytes = TensorType::of(*plan.plan().slots[argument]).bytes();
  Said said{Said::Kind::tensor, 0, hashBytes({reinterpret_cast<const uint8_t *>(tensor), bytes})};
  std::copy_n(tensor, std::min(bytes, sizeof said.first), reinterpret_cast<std::byte *>(&said.first));
  return said;
}

/// Others than states may be on the devices in one process, and not yet in another.
Agreement::Said Agreement::describe(size_t argument, const StateBuffer &value) const {
  if (plan.plan().slots[argument]->role != plan::SlotRole::state)
    return {};
  return {Said::Kind::state, value.producer() ? value.producer()->index() : 0};
}

void Agreement::begin(std::vector<Said> own) {
  if (std::string reason = fault(); !reason.empty())
    throw Error("this process has to end, as a step before was broken off: " + reason);
  room->own = std::move(own);
  reached.store(false, std::memory_order_relaxed);
  room->left.store(uint32_t(2 * room->neighbours.size()), std::memory_order_relaxed);
  for (Neighbour &neighbour : room->neighbours) {
    transport->receive(neighbour.process, number, std::as_writable_bytes(std::span(neighbour.said)),
                       room->left);
    transport->send(neighbour.process, number, std::as_bytes(std::span(room->own)), room->left);
  }
}

bool Agreement::isReached() {
  if (reached.load(std::memory_order_acquire))
    return true;
  if (room->left.load(std::memory_order_acquire) != 0)
    transport->progress();
  if (room->left.load(std::memory_order_acquire) != 0)
    return false;
  std::ranges::for_each(room->neighbours, [&](const Neighbour &each) { compare(each); });
  reached.store(true, std::memory_order_release);
  return true;
}

void Agreement::compare(const Neighbour &neighbour) const {
  for (size_t argument = 0; argument < compared.size(); ++argument) {
    const Said &own = room->own[argument], &other = neighbour.said[argument];
    if (own == other || own.kind == Said::Kind::nothing || other.kind == Said::Kind::nothing)
      continue;
    throw Error(describe(argument, own, other, neighbour.process));
  }
}

/// What differs, with both values if they are single numbers that are not alike.
std::string Agreement::describe(size_t argument, const Said &own, const Said &other,
                                uint32_t neighbour) const {
  const plan::SlotT &slot = *plan.plan().slots[argument];
  TensorType type = TensorType::of(slot);
  auto text = [&](const Said &said) -> std::string {
    if (said.kind == Said::Kind::state)
      return said.first == 0 ? "a first value on the devices"
                             : "what call " + std::to_string(said.first) + " has made";
    if (own.kind != other.kind)
      return "a host's array";
    return type.bytes() == elementBytes(type.element)
               ? elementText(type.element, reinterpret_cast<const std::byte *>(&said.first))
               : "";
  };
  std::string name = "argument \"" + slot.name + "\"", here = " in process " + std::to_string(process),
              there = " in process " + std::to_string(neighbour);
  if (text(own) == text(other))
    return name + ", " + type.str() + ", has other values" + here + " than" + there +
           ", expected the same in all processes";
  return name + " is " + text(own) + here + " and " + text(other) + there +
         ", expected the same in all processes";
}

void Agreement::breakOff(const std::string &reason, bool isWhole) {
  cancel();
  if (isWhole && reached.load(std::memory_order_acquire))
    return;
  std::scoped_lock lock(mutex);
  broken = reason;
}

std::string Agreement::fault() const {
  std::scoped_lock lock(mutex);
  return broken;
}

void Agreement::cancel() {
  if (room->left.load(std::memory_order_acquire) == 0)
    return;
  auto given = std::exchange(room, std::make_unique<Room>());
  if (!transport->cancel(given->left))
    (void)given.release(); // messages may still touch it, until the process ends
}

} // namespace epl::runtime
