// The code of a plan's kernels, as text.
#ifndef EPL_TOOLS_EPL_PLAN_CODE_H
#define EPL_TOOLS_EPL_PLAN_CODE_H

#include "runtime/plan/format/plan_generated.h"

#include <string>

namespace epl::runtime::tool {

/// The PTX of a plan for GPUs: of all its kernels, or of those called `kernel`, as the plan or a command that
/// launches them is called ("k3_softmax"), with what stands beside them in their module, so that ptxas takes
/// it. A kernel has an entry for each phase, and for each list of launches. Throws Error if the plan is for
/// other devices, has no code, or no code for such a kernel.
std::string ptxOf(const plan::PlanT &plan, const std::string &kernel);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_CODE_H
