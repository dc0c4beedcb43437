#include "runtime/plan/Summary.h"

#include "runtime/plan/Cost.h"
#include "runtime/plan/Mesh.h"

namespace epl::runtime {

Summary summarize(const plan::PlanT &plan) {
  Summary summary{plan.devices, uint32_t(plan.kernels.size()), 0, 0, 0, plan.arena_size, 0, 0, plan.layout};
  Mesh mesh(plan);
  for (const auto &slot : plan.slots)
    summary.stateBytes += slot->role == plan::SlotRole::state ? localBytes(plan, *slot) : 0;
  for (const auto &command : plan.commands) {
    plan::Action action = command->action.type;
    summary.receivedBytes += costOf(plan, mesh, *command).received;
    summary.launches += action == plan::Action::Launch;
    summary.contractions += action == plan::Action::Contract;
    // An all-reduce is counted by its first half.
    summary.collectives += kindOf(*command) == CommandKind::collective && action != plan::Action::GatherParts;
  }
  return summary;
}

std::string layoutLine(const plan::PlanT &plan) {
  std::string line = plan.device_kind + ":" + std::to_string(plan.devices);
  const char *separator = " = ";
  for (const auto &axis : plan.axes) {
    if (axis->temporal)
      continue;
    line += separator + axis->name + " " + std::to_string(axis->size);
    separator = ", ";
  }
  return line;
}

} // namespace epl::runtime
