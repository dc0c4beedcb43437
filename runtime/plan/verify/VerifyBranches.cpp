// The third stage of the plan verifier: what a command that may be skipped has written is not taken for a
// value.
//
// Problem: where a guard does not hold, nothing is written. Method: who reads from a guarded command runs
// under the same guards, or is a kernel, whose code selects; no result comes from one. A predicate is known
// by its buffer: the next stage proves that all who read the buffer read what one command wrote.

#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Names.h"

#include <algorithm>

namespace epl::runtime {
namespace {

bool isAmong(const plan::Guard &guard, const std::vector<plan::Guard> &guards) {
  return std::ranges::any_of(guards, [&](const plan::Guard &other) {
    return other.buffer() == guard.buffer() && other.expected() == guard.expected();
  });
}

void checkReader(const plan::PlanT &plan, uint32_t reader, const plan::Origin &origin, Report &report) {
  const plan::CommandT &command = *plan.commands[reader];
  bool selects = command.action.type == plan::Action::Launch && origin.operand() < firstGuard;
  if (origin.command() < 0 || selects)
    return;
  for (const plan::Guard &guard : plan.commands[size_t(origin.command())]->guards)
    if (!isAmong(guard, command.guards))
      report.add("command ", commandName(plan, reader), " reads what command ",
                 commandName(plan, uint32_t(origin.command())), " writes only if buffer ",
                 bufferName(plan, guard.buffer()), " is ", guard.expected() ? "true" : "false",
                 ", expected the same guard, or a kernel that selects");
}

} // namespace

void checkBranches(const plan::PlanT &plan, Report &report) {
  for (uint32_t reader = 0; reader < plan.commands.size(); ++reader)
    for (const plan::Origin &origin : plan.commands[reader]->origins)
      checkReader(plan, reader, origin, report);
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
    for (const plan::Origin &origin : plan.slots[slot]->origins)
      if (origin.command() >= 0 && !plan.commands[size_t(origin.command())]->guards.empty())
        report.add("result ", slotName(plan, slot), " is written by command ",
                   commandName(plan, uint32_t(origin.command())), ", which may be skipped");
}

} // namespace epl::runtime
