#include "runtime/plan/model/Names.h"

namespace epl::runtime {

std::string quoted(const std::string &text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
      continue;
    }
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

static std::string named(const char *sign, uint32_t index, const std::string &name) {
  return sign + std::to_string(index) + " " + quoted(name);
}

std::string commandName(const plan::PlanT &plan, uint32_t command) {
  return named("#", command, plan.commands[command]->name);
}

std::string bufferName(const plan::PlanT &plan, uint32_t buffer) {
  return named("b", buffer, plan.buffers[buffer]->name);
}

std::string slotName(const plan::PlanT &plan, uint32_t slot) {
  return named("s", slot, plan.slots[slot]->name);
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
