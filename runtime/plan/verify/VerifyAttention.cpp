// What a library may run as attention. Devices whose library takes it run nothing for the commands that the
// last one names: then what these make is nowhere, and only the commands of the same attention may ask for
// it.

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Attention.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/verify/VerifyStages.h"

#include <map>

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
    if (!report.failed() && !ends.empty())
      checkReaders();
  }

private:
  const plan::ContractT *endAt(uint32_t command) const {
    const plan::ContractT *contract = plan.commands[command]->action.AsContract();
    return contract && contract->attention ? contract : nullptr;
  }

  void checkEnd(uint32_t command) {
    const plan::ContractT *contract = endAt(command);
    if (!contract)
      return;
    std::string fault = plan.device_kind == "cuda"
                            ? faultOfAttention(plan, command)
                            : "is on a device of kind \"" + plan.device_kind + "\", expected \"cuda\"";
    if (!fault.empty())
      return report.add("the attention of command ", commandName(plan, command), " ", fault);
    ends[contract->a] = ends[plan.commands[contract->attention->scores]->action.AsContract()->c] = command;
  }

  void checkPart(uint32_t command) {
    int32_t named = plan.commands[command]->attention;
    if (named == -1)
      return;
    const plan::ContractT *end =
        named >= 0 && size_t(named) < plan.commands.size() ? endAt(uint32_t(named)) : nullptr;
    if (!end || (end->attention->scores != command && end->attention->softmax != command))
      report.add("command ", commandName(plan, command), " names command ", named,
                 " as the end of its attention, expected one that names it in turn");
  }

  void checkReaders() {
    Mesh mesh(plan);
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
        if (auto end = ends.find(access.buffer); end != ends.end() && command != end->second &&
                                                 plan.commands[command]->attention != int32_t(end->second))
          report.add("command ", commandName(plan, command), access.write ? " writes" : " reads", " buffer ",
                     bufferName(plan, access.buffer), ", which only the attention of command ",
                     commandName(plan, end->second), " may");
  }

  const plan::PlanT &plan;
  Report &report;
  std::map<uint32_t, uint32_t> ends; // by the buffers of scores, and of their softmax
};

} // namespace

void checkAttention(const plan::PlanT &plan, Report &report) { Attentions(plan, report).check(); }

} // namespace epl::runtime
