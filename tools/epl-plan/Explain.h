// What a plan costs, as a report.
#ifndef EPL_TOOLS_EPL_PLAN_EXPLAIN_H
#define EPL_TOOLS_EPL_PLAN_EXPLAIN_H

#include "Prices.h"

#include <string>
#include <vector>

namespace epl::runtime::tool {

struct ExplainOptions {
  Prices prices;
  /// What each command of each part took, in nanoseconds (Measured.h); without it, what they take at best.
  std::vector<std::vector<double>> measured;
};

/// The layout, the memory of a device, who holds what, the ten most expensive kernels, and the collectives
/// with the ops that are why; on GPUs also what limits commands, and predictions by kind of command; for 100
/// columns, but for long names. A plan with parts: of each part. Needs a verified plan.
std::string explainPlan(const plan::PlanT &plan, const ExplainOptions &options);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_EXPLAIN_H
