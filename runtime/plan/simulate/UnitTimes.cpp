#include "runtime/plan/simulate/UnitTimes.h"

#include "runtime/plan/model/Parts.h"
#include "runtime/plan/model/Units.h"

#include <algorithm>

namespace epl::runtime {
namespace {

bool computes(const plan::PlanT &plan, const plan::CommandT &command) {
  return plan.lanes[command.lane]->kind == plan::LaneKind::compute;
}

std::vector<schedule::Span> unitsOfMesh(const plan::PlanT &plan, const std::vector<CommandSpan> &commands) {
  constexpr double none = std::numeric_limits<double>::infinity();
  std::vector<schedule::Span> units;
  units.reserve(plan.units.size());
  for (const plan::Unit &unit : plan.units)
    units.push_back({unitOf(unit), none, -none});
  for (uint32_t command = 0; command < commands.size(); ++command) {
    int32_t unit = plan.commands[command]->unit;
    if (unit < 0 || !computes(plan, *plan.commands[command]))
      continue;
    units[unit].begin = std::min(units[unit].begin, commands[command].begin);
    units[unit].end = std::max(units[unit].end, commands[command].end);
  }
  std::erase_if(units, [](const schedule::Span &span) { return span.end <= span.begin; });
  return units;
}

/// The command of each unit that its time is given to.
std::vector<int64_t> bearersOf(const plan::PlanT &plan) {
  std::vector<int64_t> first(plan.units.size(), -1), waiting(plan.units.size(), -1);
  for (uint32_t index = 0; index < plan.commands.size(); ++index) {
    const plan::CommandT &command = *plan.commands[index];
    if (command.unit < 0 || !computes(plan, command))
      continue;
    bool waits = std::ranges::any_of(command.waits, [&](const plan::Wait &wait) {
      const plan::CommandT &earlier = *plan.commands[wait.command()];
      return earlier.unit == command.unit && earlier.action.AsReceive();
    });
    if (waits && waiting[command.unit] < 0)
      waiting[command.unit] = index;
    if (first[command.unit] < 0)
      first[command.unit] = index;
  }
  for (size_t unit = 0; unit < first.size(); ++unit)
    if (waiting[unit] >= 0)
      first[unit] = waiting[unit];
  return first;
}

} // namespace

schedule::Run unitsOf(const plan::PlanT &plan, const PlanRun &run) {
  std::vector<const plan::PlanT *> meshes = meshPlansOf(plan);
  schedule::Run units;
  units.makespan = run.makespan;
  units.kept.resize(meshes.size());
  for (size_t mesh = 0; mesh < meshes.size(); ++mesh) {
    units.spans.push_back(unitsOfMesh(*meshes[mesh], run.meshes[mesh].commands));
    units.idle.push_back(run.makespan - run.meshes[mesh].busy);
  }
  for (const auto &[loop, table] : tablesOf(plan)) {
    std::vector<uint32_t> kept = schedule::simulate(table).kept;
    for (size_t mesh = 0; mesh < meshes.size(); ++mesh)
      units.kept[mesh] = std::max(units.kept[mesh], kept[mesh]);
  }
  return units;
}

std::vector<std::vector<double>> commandTimes(const plan::PlanT &plan, const schedule::Costs &costs) {
  std::map<uint32_t, std::vector<size_t>> at; // of each loop, how many units of each mesh are done with
  std::map<uint32_t, schedule::Run> runs;
  std::vector<const plan::PlanT *> meshes = meshPlansOf(plan);
  for (const auto &[loop, table] : tablesOf(plan)) {
    runs[loop] = schedule::simulate(table, costs);
    at[loop].resize(meshes.size());
  }
  std::vector<std::vector<double>> times;
  for (size_t mesh = 0; mesh < meshes.size(); ++mesh) {
    times.emplace_back(meshes[mesh]->commands.size());
    std::vector<int64_t> bearers = bearersOf(*meshes[mesh]);
    for (size_t unit = 0; unit < bearers.size(); ++unit) {
      uint32_t loop = meshes[mesh]->units[unit].loop();
      const schedule::Span &span = runs[loop].spans[mesh][at[loop][mesh]++];
      if (bearers[unit] >= 0)
        times[mesh][bearers[unit]] = span.end - span.begin;
    }
  }
  return times;
}

} // namespace epl::runtime
