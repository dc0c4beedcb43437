#include "Schedule.h"

#include "Sensitivity.h"
#include "Units.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/schedule/Render.h"
#include "runtime/plan/schedule/Schedule.h"
#include "runtime/plan/schedule/Simulate.h"
#include "runtime/plan/schedule/Text.h"

#include <algorithm>
#include <limits>
#include <sstream>

namespace epl::runtime::tool {

using namespace schedule;

static constexpr size_t lineWidth = 98;                 // 100 behind "# "
static constexpr size_t mostListed = 16;                // meshes, one by one
static constexpr int64_t mostOfEach = int64_t(1) << 20; // meshes, micro-batches, stages
static constexpr double shortest = 1e-3, longest = 1e6; // times of units

static Costs costsOf(const ScheduleOptions &options) {
  const std::vector<double> &times = options.times;
  return {.forward = times[0],
          .backward = times[1] + times[2],
          .input = times[1],
          .weight = times[2],
          .link = options.link};
}

/// Of a file as it is, if the options do not say otherwise.
static Table makeTable(const ScheduleOptions &options) {
  Schedule schedule = Schedule::of(options.kind);
  if (!schedule.isFile())
    return generate(schedule.name(), {.meshes = options.meshes.value_or(0),
                                      .stagesPerMesh = options.stagesPerMesh.value_or(1),
                                      .microBatches = options.microBatches.value_or(0)});
  Extents found = schedule.extents();
  uint64_t meshes = options.meshes.value_or(schedule.numMeshes());
  uint64_t stages = options.stagesPerMesh ? meshes * *options.stagesPerMesh : found.stages;
  return schedule.make(uint32_t(meshes),
                       uint32_t(std::min<uint64_t>(stages, std::numeric_limits<uint32_t>::max())),
                       options.microBatches.value_or(found.microBatches));
}

static std::string plainText(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// What is kept on each mesh: 4 on each; 4, 3, 2, 1; of many meshes 1 to 32.
static std::string keptText(const std::vector<uint32_t> &kept) {
  auto [least, most] = std::minmax_element(kept.begin(), kept.end());
  if (*least == *most)
    return std::to_string(*most) + (kept.size() > 1 ? " on each" : "");
  if (kept.size() > mostListed)
    return std::to_string(*least) + " to " + std::to_string(*most);
  std::string text;
  for (uint32_t count : kept)
    text += (text.empty() ? "" : ", ") + std::to_string(count);
  return text;
}

static std::string timesText(const Costs &costs) {
  return "times: F " + plainText(costs.forward) + ", B " + plainText(costs.backward) + " or I " +
         plainText(costs.input) + " and W " + plainText(costs.weight) + ", between meshes " +
         plainText(costs.link);
}

/// How much longer it takes with slow links.
static std::string growthText(const Table &table, Costs costs) {
  auto withLink = [&](double link) {
    costs.link = link;
    Run run = simulate(table, costs);
    return Figures{run.makespan, run.bubble()};
  };
  return sensitivityText(costs.forward, withLink, plainText);
}

static std::string commented(const std::string &text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    result += line.empty() ? "#\n" : "# " + line + "\n";
  return result;
}

std::string describeSchedule(const ScheduleOptions &options) {
  Table table = makeTable(options);
  Costs costs = costsOf(options);
  Run run = simulate(table, costs);
  std::string figures = "makespan " + plainText(run.makespan) + ", bubble " + percentText(run.bubble()) +
                        ", micro-batches of a stage kept at most: " + keptText(run.kept) + "\n";
  return write(table) + commented("\n" + timesText(costs) + "\n\n" + render(run, lineWidth) + "\n" + figures +
                                  "\n" + growthText(table, costs));
}

/// Names of generators with what they do.
static std::string generatorsText() {
  std::string text;
  for (const Generator &generator : getGenerators())
    text += "\n  " + std::string(generator.name) + ": " + std::string(generator.description);
  return text;
}

static void checkUsage(const ScheduleOptions &options) {
  if (isGenerator(options.kind) && !options.meshes)
    throw CLI::RequiredError("meshes");
  if (isGenerator(options.kind) && !options.microBatches)
    throw CLI::RequiredError("micro_batches");
}

/// For times, whose sums and quotients must be finite.
static CLI::Validator isFrom(double least, double most) {
  auto check = [least, most](const std::string &text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most)
      return "";
    return "must be from " + plainText(least) + " to " + plainText(most) + ", found \"" + text + "\"";
  };
  return {check, ""};
}

void addScheduleOptions(CLI::App &command, ScheduleOptions &options) {
  CLI::Validator count = CLI::Range(int64_t(1), mostOfEach).description("");
  command.add_option("kind", options.kind, "A name of those below, or a file with a table")->required();
  command
      .add_option("meshes", options.meshes,
                  "How many meshes, each with devices of its own; a file says it by its lines")
      ->check(count);
  command
      .add_option("micro_batches", options.microBatches,
                  "How many micro-batches the batch is cut into; a file says it")
      ->check(count);
  command
      .add_option("--stages-per-mesh", options.stagesPerMesh,
                  "How many stages each mesh has (default 1); a file says it")
      ->check(count);
  command
      .add_option("--times", options.times,
                  "How long a stage's forward, input gradient and weight gradient take, in any unit; its "
                  "whole backward, B, takes as long as the last two (default 1,1,1)")
      ->delimiter(',')
      ->expected(3)
      ->type_name("F,I,W")
      ->check(isFrom(shortest, longest));
  command.add_option("--link", options.link, "How long a message to another mesh takes (default 0)")
      ->check(isFrom(0, longest));
  command.footer("Schedules:" + generatorsText() +
                 "\n\nExit codes: 0 done, 1 the table is no schedule (or cannot be read), 2 wrong usage.");
  command.callback([&options] { checkUsage(options); });
}

} // namespace epl::runtime::tool
