// The schedules of a plan's loops over micro-batches.

#ifndef EPL_RUNTIME_PLAN_MODEL_UNITS_H
#define EPL_RUNTIME_PLAN_MODEL_UNITS_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/schedule/Table.h"

#include <map>

namespace epl::runtime {

/// A unit as tables have it. Its kind must be one of the enumeration.
schedule::Unit unitOf(const plan::Unit &unit);
plan::Unit unitOf(uint32_t loop, schedule::Unit unit);

/// The table of each loop: a lane for each mesh of the plan.
std::map<uint32_t, schedule::Table> tablesOf(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_UNITS_H
