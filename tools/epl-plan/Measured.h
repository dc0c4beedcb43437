// Times of commands from a recorded timeline.
#ifndef EPL_TOOLS_EPL_PLAN_MEASURED_H
#define EPL_TOOLS_EPL_PLAN_MEASURED_H

#include "runtime/plan/simulate/Simulate.h"

#include <filesystem>
#include <vector>

namespace epl::runtime::tool {

/// What a timeline says of a plan. Times are in nanoseconds.
struct Recording {
  /// The median over steps and ranks of what each command took, for each part of the plan (one, if it has no
  /// parts).
  std::vector<std::vector<double>> medians;
  /// One of the whole steps, of the length that is their median: the commands of the first rank of each
  /// part. What meshes wait for is not recorded.
  PlanRun step;
};

/// From a timeline that a session of this plan wrote. Throws Error if the file is no such timeline or lacks a
/// command.
Recording readTimeline(const plan::PlanT &plan, const std::filesystem::path &timeline);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_MEASURED_H
