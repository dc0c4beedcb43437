// Times of commands from a recorded timeline.
#ifndef EPL_TOOLS_EPL_PLAN_MEASURED_H
#define EPL_TOOLS_EPL_PLAN_MEASURED_H

#include "runtime/plan/format/plan_generated.h"

#include <filesystem>
#include <vector>

namespace epl::runtime::tool {

/// The median over steps and ranks of what each command took, in nanoseconds, for each part of `plan` (one,
/// if it has no parts), from a timeline that a session of this plan wrote. Throws Error if the file is no
/// such timeline or lacks a command.
std::vector<std::vector<double>> measuredNanoseconds(const plan::PlanT &plan,
                                                     const std::filesystem::path &timeline);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_MEASURED_H
