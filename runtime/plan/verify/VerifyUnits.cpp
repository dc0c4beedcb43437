// The schedules of a plan: that the lanes of each mesh obey its own, and that those of all meshes together
// are a table that comes to its end and adds in the order of every other one.
#include "runtime/plan/format/Error.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Units.h"
#include "runtime/plan/schedule/Check.h"
#include "runtime/plan/verify/VerifyStages.h"

#include <algorithm>

namespace epl::runtime {
namespace {

bool isKind(plan::UnitKind kind) { return kind >= plan::UnitKind::MIN && kind <= plan::UnitKind::MAX; }

void checkLane(const plan::PlanT &plan, uint32_t lane, Report &report) {
  int32_t latest = -1;
  for (uint32_t command : plan.lanes[lane]->commands) {
    int32_t unit = plan.commands[command]->unit;
    if (unit >= 0 && unit < latest)
      report.add("command ", commandName(plan, command), " is of unit ", unitName(plan, unit),
                 " and stands in lane ", lane, " behind one of the later unit ", unitName(plan, latest));
    latest = std::max(latest, unit);
  }
}

void checkTable(uint32_t loop, const schedule::Table &table, Report &report) {
  auto [stages, microBatches] = schedule::extentsOf(table);
  try {
    schedule::check(table, stages, microBatches);
  } catch (const PlanError &error) {
    for (const std::string &message : error.messages())
      report.add("schedule of loop ", loop, ": ", message);
  }
}

} // namespace

void checkUnits(const plan::PlanT &plan, Report &report) {
  for (size_t unit = 0; unit < plan.units.size(); ++unit)
    if (!isKind(plan.units[unit].kind()))
      report.add("unit ", unit, " has kind ", int(plan.units[unit].kind()), " of ",
                 int(plan::UnitKind::MAX) + 1);
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    if (int32_t unit = plan.commands[command]->unit; unit < -1 || unit >= int64_t(plan.units.size()))
      report.add("command ", commandName(plan, command), " is of unit ", unit, " of ", plan.units.size());
  for (uint32_t lane = 0; lane < plan.lanes.size() && !report.failed(); ++lane)
    checkLane(plan, lane, report);
}

void checkSchedules(const plan::PlanT &plan, Report &report) {
  for (const auto &[loop, table] : tablesOf(plan))
    checkTable(loop, table, report);
}

} // namespace epl::runtime
