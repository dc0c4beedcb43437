// What a library may run as attention, or as its gradient. Devices whose library takes it run nothing for the
// commands that name the last one: then what these make is nowhere, and only commands that run nothing then,
// too, may ask for it.

#include "runtime/plan/model/AttentionGradient.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/verify/VerifyStages.h"

namespace epl::runtime {
namespace {

class Attentions {
public:
  Attentions(const plan::PlanT &plan, Report &report) : plan(plan), report(report) {}

  void check() {
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      checkEnd(command);
      checkPart(command);
    }
    for (uint32_t command = 0; command < plan.commands.size() && !report.failed(); ++command)
      checkGradient(command);
    if (!report.failed())
      checkReaders();
  }

private:
  const plan::CommandT &at(int64_t command) const { return *plan.commands[size_t(command)]; }
  const plan::AttentionT *attentionAt(int64_t command) const {
    const plan::ContractT *contract = at(command).action.AsContract();
    return contract ? contract->attention.get() : nullptr;
  }
  const plan::AttentionGradientT *gradientAt(int64_t command) const {
    return at(command).action.AsAttentionGradient();
  }
  bool isCommand(int64_t command) const { return command >= 0 && command < int64_t(plan.commands.size()); }

  std::string faultOfDevice() const {
    return plan.device_kind == "cuda"
               ? ""
               : "is on a device of kind \"" + plan.device_kind + "\", expected \"cuda\"";
  }

  void checkEnd(uint32_t command) {
    const plan::AttentionT *attention = attentionAt(command);
    if (!attention)
      return;
    std::string fault = faultOfDevice();
    if (fault.empty())
      fault = faultOfAttention(plan, command);
    if (fault.empty() && attention->gradient != -1)
      fault = faultOfLink(*attention, command);
    if (!fault.empty())
      report.add("the attention of command ", commandName(plan, command), " ", fault);
  }

  /// Of attention with a gradient.
  std::string faultOfLink(const plan::AttentionT &attention, uint32_t command) const {
    const plan::AttentionGradientT *gradient =
        isCommand(attention.gradient) ? gradientAt(attention.gradient) : nullptr;
    if (!gradient || gradient->attention != command)
      return "names command " + std::to_string(attention.gradient) +
             " as its gradient, expected one that names it in turn";
    const plan::BufferT &stats = *plan.buffers[attention.stats];
    return stats.slot >= 0 || stats.view_of >= 0
               ? "keeps its rows in buffer " + std::to_string(attention.stats) + ", expected one of the arena"
               : "";
  }

  void checkGradient(uint32_t command) {
    if (!gradientAt(command))
      return;
    std::string fault = faultOfDevice();
    if (fault.empty())
      fault = faultOfGradient(plan, command);
    if (!fault.empty())
      report.add("the gradient of attention, command ", commandName(plan, command), ", ", fault);
  }

  void checkPart(uint32_t command) {
    int32_t named = at(command).attention;
    if (named == -1)
      return;
    if (!isCommand(named) || !isPartOf(command, named))
      report.add("command ", commandName(plan, command), " names command ", named,
                 " as the end of its attention, expected one that names it in turn, or a gradient behind it "
                 "with its lane, unit, guards and owner");
  }

  /// Of attention the end names its parts; those of a gradient are launches and products before it.
  bool isPartOf(uint32_t command, int32_t end) const {
    if (const plan::AttentionT *attention = attentionAt(end))
      return attention->scores == command || attention->softmax == command;
    const plan::CommandT &part = at(command), &last = at(end);
    bool isComputation = part.action.AsLaunch() || (part.action.AsContract() && !attentionAt(command));
    return gradientAt(end) && int64_t(command) < end && isComputation && part.lane == last.lane &&
           part.unit == last.unit && haveEqualGuards(part, last) && haveEqualOwners(part, last);
  }

  void checkReaders() {
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      for (const plan::Origin &origin : at(command).origins)
        if (int64_t end = onlyFor(origin); end >= 0 && !mayRead(command, origin, end))
          report.add("command ", commandName(plan, command), " reads as ", operandName(origin.operand()),
                     " what command ", commandName(plan, uint32_t(origin.command())),
                     " makes, which only the attention of command ", commandName(plan, uint32_t(end)),
                     " may");
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
      for (const plan::Origin &origin : plan.slots[slot]->origins)
        if (int64_t end = onlyFor(origin); end >= 0)
          report.add("result ", slotName(plan, slot), " is what command ",
                     commandName(plan, uint32_t(origin.command())),
                     " makes, which only the attention of command ", commandName(plan, uint32_t(end)),
                     " may read");
  }

  /// The attention, or the gradient, that a value is made for; -1: for all.
  int64_t onlyFor(const plan::Origin &origin) const {
    if (origin.command() < 0)
      return -1;
    if (const plan::AttentionT *attention = attentionAt(origin.command()))
      return origin.output() == 1 ? attention->gradient : -1;
    return at(origin.command()).attention;
  }

  bool mayRead(uint32_t command, const plan::Origin &origin, int64_t end) const {
    if (command == end || at(command).attention == end)
      return true;
    const plan::AttentionT *attention = attentionAt(end);
    return attention && attention->gradient >= 0 && attention->softmax == uint32_t(origin.command()) &&
           at(command).attention == attention->gradient;
  }

  const plan::PlanT &plan;
  Report &report;
};

} // namespace

void checkAttention(const plan::PlanT &plan, Report &report) { Attentions(plan, report).check(); }

} // namespace epl::runtime
