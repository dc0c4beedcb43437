// What a pipeline's schedule costs, before there is a plan.
#ifndef EPL_TOOLS_EPL_PLAN_SCHEDULE_H
#define EPL_TOOLS_EPL_PLAN_SCHEDULE_H

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace epl::runtime::tool {

struct ScheduleOptions {
  std::string kind; // a generator's name, or a file
  /// A name needs the first two, and has 1 stage on each mesh unless it is said. A file says all three; one
  /// that is given is what it must have.
  std::optional<uint32_t> meshes, microBatches, stagesPerMesh;
  std::vector<double> times = {1, 1, 1}; // of F, I, W; B takes as long as I and W
  double link = 0;
};

void addScheduleOptions(CLI::App &command, ScheduleOptions &options);

/// The table, and in comments its timeline, what it costs, and how that grows with the time of a link: so the
/// text is a file that `kind` takes. Throws Error: an unknown name, a file that is no table, numbers that do
/// not go together.
std::string describeSchedule(const ScheduleOptions &options);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_SCHEDULE_H
