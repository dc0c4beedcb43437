// Units of micro-batches in the time of a plan's commands: what a table says of a plan, and back.

#ifndef EPL_RUNTIME_PLAN_SIMULATE_UNIT_TIMES_H
#define EPL_RUNTIME_PLAN_SIMULATE_UNIT_TIMES_H

#include "runtime/plan/schedule/Simulate.h"
#include "runtime/plan/simulate/Simulate.h"

namespace epl::runtime {

/// The units of all loops of a plan in a run of its commands, simulated or recorded: each from the begin of
/// the first to the end of the last command that computes for it. Those that take no time are left out. A
/// mesh is idle where no command of its runs, be it of a unit or not; `kept` is the most of the loops.
schedule::Run unitsOf(const plan::PlanT &plan, const PlanRun &run);

/// Times of commands by which the units of a plan take what they take in their table: all of it is that of
/// the last command that waits for a message before the unit sends any, else of the first that computes. So a
/// unit begins when what it needs has come, and what it sends leaves at its end. All other commands take
/// none.
std::vector<std::vector<double>> commandTimes(const plan::PlanT &plan, const schedule::Costs &costs);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_SIMULATE_UNIT_TIMES_H
