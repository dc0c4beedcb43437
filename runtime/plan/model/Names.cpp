#include "runtime/plan/model/Names.h"

#include "runtime/plan/model/Units.h"

namespace epl::runtime {

static std::string named(const char *sign, uint32_t index, const std::string &name) {
  return sign + std::to_string(index) + " " + quoted(name);
}

std::string commandName(const plan::PlanT &plan, uint32_t command) {
  return named("#", command, plan.commands[command]->name);
}

std::string commandOnRank(const plan::CommandT &command, uint32_t rank) {
  return "command \"" + command.name + "\"" + (command.location.empty() ? "" : " of " + command.location) +
         " on rank " + std::to_string(rank);
}

std::string bufferName(const plan::PlanT &plan, uint32_t buffer) {
  return named("b", buffer, plan.buffers[buffer]->name);
}

std::string slotName(const plan::PlanT &plan, uint32_t slot) {
  return named("s", slot, plan.slots[slot]->name);
}

std::string unitName(const plan::PlanT &plan, int32_t unit) {
  return schedule::toString(unitOf(plan.units[size_t(unit)]));
}

std::string operandName(uint32_t operand) {
  return operand >= firstGuard ? "guard " + std::to_string(operand - firstGuard)
                               : "operand " + std::to_string(operand);
}

std::string kernelName(const plan::PlanT &plan, uint32_t kernel) {
  return named("k", kernel, plan.kernels[kernel]->name);
}

std::string phaseName(const plan::CommandT &command) {
  return command.work.substr(command.work.rfind('.') + 1); // npos + 1 is 0: work without a task graph
}

std::string rangeText(ByteRange range) {
  return std::to_string(range.begin) + ".." + std::to_string(range.end - 1);
}

} // namespace epl::runtime
