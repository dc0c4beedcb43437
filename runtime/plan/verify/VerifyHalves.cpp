// An all-reduce is two commands, so that members wait for each other where they must and nowhere else.
// Devices that have one call for all of it run the call for the first half and nothing for the second: then
// the halves must be of one all-reduce.

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/verify/VerifyStages.h"

#include <algorithm>

namespace epl::runtime {
namespace {

bool areEqual(const std::vector<plan::ReducedTensorT> &reduced,
              const std::vector<plan::GatheredTensorT> &gathered) {
  return std::ranges::equal(reduced, gathered, [](const auto &one, const auto &other) {
    return one.type == other.type && one.target == other.buffer && one.count == other.count;
  });
}

/// What differs between the halves of an all-reduce; null if nothing does.
const char *differenceOf(const plan::CommandT &first, const plan::CommandT &second) {
  const plan::ReducePartT &reduce = *first.action.AsReducePart();
  const plan::GatherPartsT &gather = *second.action.AsGatherParts();
  if (reduce.communicator != gather.communicator)
    return "other members";
  if (!haveEqualGuards(first, second))
    return "other guards";
  if (!haveEqualOwners(first, second))
    return "another owner";
  return areEqual(reduce.tensors, gather.tensors) ? nullptr : "other tensors";
}

/// The command `other`, named by `command` as its other half, names it in turn; false with a message if not.
bool requireHalf(const plan::PlanT &plan, uint32_t command, uint32_t other, Report &report) {
  const plan::ActionUnion *action = other < plan.commands.size() ? &plan.commands[other]->action : nullptr;
  const plan::ReducePartT *reduce = action ? action->AsReducePart() : nullptr;
  const plan::GatherPartsT *gather = action ? action->AsGatherParts() : nullptr;
  bool isFirst = plan.commands[command]->action.AsReducePart() != nullptr;
  bool good = isFirst ? gather && gather->reduce == command && command < other
                      : reduce && reduce->gather == command && other < command;
  if (!good)
    report.add("command ", commandName(plan, command), " names command ", other, " as its ",
               isFirst ? "second" : "first", " half, expected ", isFirst ? "a later" : "an earlier",
               " command that names it as its ", isFirst ? "first" : "second", " half");
  return good;
}

} // namespace

void checkHalves(const plan::PlanT &plan, Report &report) {
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    const plan::CommandT &current = *plan.commands[command];
    if (const plan::GatherPartsT *gather = current.action.AsGatherParts())
      requireHalf(plan, command, gather->reduce, report);
    const plan::ReducePartT *reduce = current.action.AsReducePart();
    if (!reduce || !requireHalf(plan, command, reduce->gather, report))
      continue;
    if (const char *difference = differenceOf(current, *plan.commands[reduce->gather]))
      report.add("command ", commandName(plan, reduce->gather), " has ", difference, " than command ",
                 commandName(plan, command), ", the first half of its all-reduce");
  }
}

} // namespace epl::runtime
