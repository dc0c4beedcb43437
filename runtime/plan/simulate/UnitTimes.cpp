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

/// For each command, whether it waits for a message of its unit: itself, or for a collective that does.
std::vector<bool> findAwaiting(const plan::PlanT &plan) {
  std::vector<bool> awaits(plan.commands.size()), brings(plan.commands.size());
  for (uint32_t index = 0; index < plan.commands.size(); ++index) {
    const plan::CommandT &command = *plan.commands[index];
    awaits[index] = std::ranges::any_of(command.waits, [&](const plan::Wait &wait) {
      return brings[wait.command()] && plan.commands[wait.command()]->unit == command.unit;
    });
    brings[index] = command.action.AsReceive() || (awaits[index] && !computes(plan, command));
  }
  return awaits;
}

/// The command of each unit that its time is given to; -1 if none computes.
std::vector<int64_t> bearersOf(const plan::PlanT &plan) {
  std::vector<int64_t> bearers(plan.units.size(), -1);
  std::vector<bool> awaits = findAwaiting(plan), hasSent(plan.units.size());
  for (uint32_t index = 0; index < plan.commands.size(); ++index) {
    const plan::CommandT &command = *plan.commands[index];
    if (command.unit < 0)
      continue;
    if (command.action.AsSend())
      hasSent[command.unit] = true;
    else if (int64_t &bearer = bearers[command.unit];
             computes(plan, command) && (bearer < 0 || (awaits[index] && !hasSent[command.unit])))
      bearer = index;
  }
  return bearers;
}

/// The most micro-batches that a mesh keeps in one of its loops, by the units that do something.
uint32_t mostKept(const plan::PlanT &plan) {
  std::vector<bool> has(plan.units.size());
  for (const auto &command : plan.commands)
    if (command->unit >= 0)
      has[command->unit] = true;
  std::map<uint32_t, std::vector<schedule::Unit>> lanes; // of each loop
  for (size_t unit = 0; unit < has.size(); ++unit)
    if (has[unit])
      lanes[plan.units[unit].loop()].push_back(unitOf(plan.units[unit]));
  uint32_t most = 0;
  for (const auto &[loop, lane] : lanes)
    most = std::max(most, schedule::mostKept(lane));
  return most;
}

} // namespace

schedule::Run unitsOf(const plan::PlanT &plan, const PlanRun &run) {
  std::vector<const plan::PlanT *> meshes = meshPlansOf(plan);
  schedule::Run units;
  units.makespan = run.makespan;
  for (size_t mesh = 0; mesh < meshes.size(); ++mesh) {
    units.spans.push_back(unitsOfMesh(*meshes[mesh], run.meshes[mesh].commands));
    units.idle.push_back(run.makespan - run.meshes[mesh].busy);
    units.kept.push_back(mostKept(*meshes[mesh]));
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
