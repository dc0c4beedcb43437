#include "runtime/plan/verify/Verifier.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/verify/VerifyStages.h"

namespace epl::runtime {
namespace {

using Stage = void (*)(const plan::PlanT &, Report &);

void proveMemory(const plan::PlanT &plan, Report &report) { checkMemory(plan, report); }

std::vector<std::string> runStages(const plan::PlanT &plan, std::initializer_list<Stage> stages) {
  Report report;
  for (Stage stage : stages)
    if (!report.failed())
      stage(plan, report);
  return report.take();
}

} // namespace

std::vector<std::string> verifyTables(const plan::PlanT &plan) {
  return runStages(plan, {checkTables, checkCommands});
}

std::vector<std::string> verifyPart(const plan::PlanT &part) {
  return runStages(part, {checkTables, checkCommands, checkHalves, checkHostSlots, checkOutside, checkLayout,
                          checkAttention, checkUnits, checkBranches, checkOwners, proveMemory});
}

std::vector<std::string> verifyPlan(const plan::PlanT &plan) {
  std::vector<std::string> messages = runStages(plan, {checkWhole});
  if (!messages.empty())
    return messages;
  if (plan.parts.empty()) {
    messages = verifyPart(plan);
    return messages.empty() ? runStages(plan, {checkSchedules}) : messages;
  }
  for (size_t index = 0; index < plan.parts.size(); ++index)
    for (const std::string &message : verifyPart(*plan.parts[index]->plan))
      messages.push_back("part " + std::to_string(index) + ": " + message);
  return messages.empty() ? runStages(plan, {checkTables, checkSchedules, checkParts}) : messages;
}

static void require(std::vector<std::string> messages) {
  for (std::string &message : messages)
    message = "plan check: " + message;
  if (!messages.empty())
    throw PlanError(std::move(messages));
}

void requireValid(const plan::PlanT &plan) { require(verifyPlan(plan)); }

void requireValidPart(const plan::PlanT &part) { require(verifyPart(part)); }

} // namespace epl::runtime
