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
#include <set>
#include <utility>

namespace epl::runtime {
namespace {

using Expectation = std::pair<uint32_t, bool>; // a buffer and what is expected of it

/// The guards of a command, ascending.
std::vector<Expectation> conditionsOf(const plan::CommandT &command) {
  std::vector<Expectation> conditions;
  conditions.reserve(command.guards.size());
  for (const plan::Guard &guard : command.guards)
    conditions.emplace_back(guard.buffer(), guard.expected());
  std::ranges::sort(conditions);
  return conditions;
}

void checkWriter(const plan::PlanT &plan, uint32_t reader, const std::vector<Expectation> &conditions,
                 uint32_t writer, Report &report) {
  for (const plan::Guard &guard : plan.commands[writer]->guards)
    if (!std::ranges::binary_search(conditions, Expectation(guard.buffer(), guard.expected())))
      report.add("command ", commandName(plan, reader), " reads what command ", commandName(plan, writer),
                 " writes only if buffer ", bufferName(plan, guard.buffer()), " is ",
                 guard.expected() ? "true" : "false", ", expected the same guard, or a kernel that selects");
}

/// Those whose values the command takes as they are, each once.
std::set<uint32_t> writersOf(const plan::CommandT &command) {
  std::set<uint32_t> writers;
  for (const plan::Origin &origin : command.origins) {
    bool selects = command.action.type == plan::Action::Launch && origin.operand() < firstGuard;
    if (origin.command() >= 0 && !selects)
      writers.insert(uint32_t(origin.command()));
  }
  return writers;
}

} // namespace

void checkBranches(const plan::PlanT &plan, Report &report) {
  for (uint32_t reader = 0; reader < plan.commands.size(); ++reader) {
    std::vector<Expectation> conditions = conditionsOf(*plan.commands[reader]);
    for (uint32_t writer : writersOf(*plan.commands[reader]))
      checkWriter(plan, reader, conditions, writer, report);
  }
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
    for (const plan::Origin &origin : plan.slots[slot]->origins)
      if (origin.command() >= 0 && !plan.commands[size_t(origin.command())]->guards.empty())
        report.add("result ", slotName(plan, slot), " is written by command ",
                   commandName(plan, uint32_t(origin.command())), ", which may be skipped");
}

} // namespace epl::runtime
