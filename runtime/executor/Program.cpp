#include "runtime/executor/Program.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/plan/Devices.h"

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
  turnEdges();
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

/// A plan says whom a command waits for; a worker that has run a command must know who waits for it.
void Program::turnEdges() {
  const auto &commands = source->commands;
  waits.resize(commands.size());
  successorBegin.assign(commands.size() + 1, 0);
  for (const auto &command : commands)
    for (const plan::Wait &wait : command->waits)
      ++successorBegin[wait.command() + 1];
  for (size_t i = 0; i < commands.size(); ++i)
    successorBegin[i + 1] += successorBegin[i];
  successorList.resize(successorBegin.back());
  std::vector<uint32_t> next(successorBegin.begin(), successorBegin.end() - 1);
  for (uint32_t command = 0; command < commands.size(); ++command)
    for (const plan::Wait &wait : commands[command]->waits) {
      bool members = wait.scope() == plan::WaitScope::members;
      waits[command] += members ? ranks.groupSize(wait.communicator()) : 1;
      successorList[next[wait.command()]++] = {command, members ? int32_t(wait.communicator()) : -1};
    }
}

} // namespace epl::runtime
