#include "runtime/executor/Program.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/plan/Devices.h"

#include <algorithm>

namespace epl::runtime {

/// Checks what can be checked before anything is made of the plan.
static void checkTarget(const plan::PlanT &plan, const std::string &text) {
  Devices devices = Devices::parse(text);
  auto count = [](uint32_t n) { return std::to_string(n) + (n == 1 ? " device" : " devices"); };
  if (plan.device_kind != devices.kind)
    throw Error("the plan is for devices of kind \"" + plan.device_kind + "\", found \"" + text + "\"");
  if (plan.devices != devices.count)
    throw Error("the plan is for " + count(plan.devices) +
                (plan.layout.empty() ? "" : " (" + plan.layout + ")") + ", found " + count(devices.count) +
                " (\"" + text + "\")");
  checkCpuFeatures(plan.target_features);
}

static std::shared_ptr<const plan::PlanT> checked(std::shared_ptr<const plan::PlanT> plan,
                                                  const std::string &devices) {
  checkTarget(*plan, devices);
  return plan;
}

static std::vector<SlotLayout> layOut(const plan::PlanT &plan, const Topology &topology) {
  std::vector<SlotLayout> layouts;
  layouts.reserve(plan.slots.size());
  for (const auto &slot : plan.slots)
    layouts.emplace_back(plan, *slot, topology);
  return layouts;
}

Program::Program(std::shared_ptr<const plan::PlanT> plan, const std::string &devices)
    : source(checked(std::move(plan), devices)), ranks(*source), layouts(layOut(*source, ranks)),
      bound(*source, ranks) {
  findUpdates();
  bindLanes();
  bindWaits();
}

void Program::findUpdates() {
  const auto &slots = source->slots;
  while (arguments < slots.size() && slots[arguments]->role != plan::SlotRole::result)
    ++arguments;
  updates.assign(arguments, -1);
  for (size_t slot = arguments; slot < slots.size(); ++slot)
    if (slots[slot]->updates >= 0)
      updates[slots[slot]->updates] = int32_t(slot);
}

void Program::bindLanes() {
  places.resize(source->commands.size());
  for (uint32_t lane = 0; lane < source->lanes.size(); ++lane) {
    const plan::LaneT &from = *source->lanes[lane];
    (from.kind == plan::LaneKind::compute ? computing : communicating).push_back(lane);
    for (uint32_t position = 0; position < from.commands.size(); ++position)
      places[from.commands[position]] = {lane, position};
  }
}

void Program::bindWaits() {
  std::vector<std::vector<uint32_t>> listeners(places.size());
  for (const auto &command : source->commands) {
    std::vector<Place> local;
    std::vector<RemoteWait> remote;
    for (const plan::Wait &wait : command->waits) {
      Place place = places[wait.command()];
      if (wait.scope() == plan::WaitScope::self || ranks.groupSize(wait.communicator()) == 1) {
        local.push_back(place);
        continue;
      }
      remote.push_back({place, wait.communicator()});
      std::vector<uint32_t> &others = listeners[wait.command()];
      if (std::ranges::find(others, wait.communicator()) == others.end())
        others.push_back(wait.communicator());
    }
    localLists.add(local);
    remoteLists.add(remote);
  }
  for (const std::vector<uint32_t> &communicators : listeners)
    listenerLists.add(communicators);
}

} // namespace epl::runtime
