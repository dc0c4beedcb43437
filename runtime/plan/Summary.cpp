#include "runtime/plan/Summary.h"

namespace epl::runtime {

Summary summarize(const plan::PlanT &plan) {
  Summary summary{plan.devices, uint32_t(plan.kernels.size()), 0, 0, 0, plan.arena_size, plan.layout};
  for (const auto &command : plan.commands) {
    plan::Action action = command->action.type;
    summary.launches += action == plan::Action::Launch;
    summary.contractions += action == plan::Action::Contract;
    summary.collectives += action == plan::Action::ReducePart || action == plan::Action::GatherBlocks;
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
