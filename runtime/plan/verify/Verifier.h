// The plan verifier: proves that a plan can run, or says why not. It trusts no pass and no file.

#ifndef EPL_RUNTIME_PLAN_VERIFY_VERIFIER_H
#define EPL_RUNTIME_PLAN_VERIFY_VERIFIER_H

#include "runtime/plan/format/plan_generated.h"

#include <string>
#include <vector>

namespace epl::runtime {

/// As verifyPlan, for a plan that is to be a part of another (schema: Part), or may be.
std::vector<std::string> verifyPart(const plan::PlanT &part);

/// Every rule that the plan breaks, as one message each; empty for a good plan. Checks of a later stage
/// (commands, then order and memory) run only on a plan that passes the earlier ones.
std::vector<std::string> verifyPlan(const plan::PlanT &plan);

/// The rules of tables and commands alone: what a plan must keep before edges and memory can be planned.
std::vector<std::string> verifyTables(const plan::PlanT &plan);

/// Throws PlanError with the messages of verifyPlan, or of verifyPart, if any.
void requireValid(const plan::PlanT &plan);
void requireValidPart(const plan::PlanT &part);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_VERIFY_VERIFIER_H
