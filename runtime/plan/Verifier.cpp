#include "runtime/plan/Verifier.h"

#include "runtime/plan/Error.h"
#include "runtime/plan/VerifyStages.h"

namespace epl::runtime {
namespace {

using Stage = void (*)(const plan::PlanT &, Report &);

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

std::vector<std::string> verifyPlan(const plan::PlanT &plan) {
  return runStages(plan, {checkTables, checkCommands, checkLayout, checkBranches, checkMemory});
}

void requireValid(const plan::PlanT &plan) {
  std::vector<std::string> messages = verifyPlan(plan);
  for (std::string &message : messages)
    message = "plan check: " + message;
  if (!messages.empty())
    throw PlanError(std::move(messages));
}

} // namespace epl::runtime
