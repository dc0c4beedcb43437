#include "runtime/plan/model/Parts.h"

#include "runtime/plan/model/Mesh.h"

#include <algorithm>
#include <cassert>

namespace epl::runtime {

std::vector<const plan::PlanT *> meshPlansOf(const plan::PlanT &plan) {
  if (plan.parts.empty())
    return {&plan};
  std::vector<const plan::PlanT *> plans;
  plans.reserve(plan.parts.size());
  for (const auto &part : plan.parts)
    plans.push_back(part->plan.get());
  return plans;
}

std::vector<uint32_t> placesOf(const plan::PartT &part) {
  Mesh mesh(*part.plan);
  std::vector<uint32_t> places;
  for (uint32_t rank = 0; rank < mesh.devices(); ++rank) {
    std::vector<int64_t> coordinates = mesh.coordinates(rank);
    uint32_t place = part.first;
    for (size_t axis = 0; axis < coordinates.size(); ++axis)
      place += uint32_t(coordinates[axis]) * part.strides[axis];
    places.push_back(place);
  }
  return places;
}

uint32_t deviceAt(const plan::PlanT &plan, uint32_t place) {
  return place % plan.nodes * (plan.devices / plan.nodes) + place / plan.nodes;
}

std::vector<int64_t> callerShape(const plan::SlotT &slot) {
  std::vector<int64_t> shape = slot.caller_shape.empty() ? slot.shape : slot.caller_shape;
  if (slot.caller_rows && !shape.empty())
    shape.front() = slot.caller_rows->count();
  return shape;
}

const plan::SlotT &heldSlot(const plan::PlanT &plan, uint32_t slot) {
  for (const auto &part : plan.parts)
    for (uint32_t own = 0; own < part->slots.size(); ++own)
      if (part->slots[own] == slot)
        return *part->plan->slots[own];
  return *plan.slots[slot];
}

std::vector<std::vector<MessageEnds>> channelsOf(const plan::PlanT &plan) {
  std::vector<std::vector<MessageEnds>> channels;
  auto at = [&](uint32_t channel, uint32_t message) -> MessageEnds & {
    if (channel >= channels.size())
      channels.resize(channel + 1);
    if (message >= channels[channel].size())
      channels[channel].resize(message + 1);
    return channels[channel][message];
  };
  for (uint32_t part = 0; part < plan.parts.size(); ++part) {
    const auto &commands = plan.parts[part]->plan->commands;
    for (uint32_t command = 0; command < commands.size(); ++command)
      if (const plan::SendT *send = commands[command]->action.AsSend())
        at(send->channel, send->message).send = {part, command};
      else if (const plan::ReceiveT *receive = commands[command]->action.AsReceive())
        at(receive->channel, receive->message).receive = {part, command};
  }
  assert(std::ranges::all_of(channels,
                             [](const std::vector<MessageEnds> &messages) {
                               return !messages.empty() &&
                                      messages.front().send.part != messages.front().receive.part;
                             }) &&
         "the messages of a channel go from one part to another one");
  return channels;
}

} // namespace epl::runtime
