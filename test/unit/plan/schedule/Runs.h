// What a run of a table is, said without the simulator.

#ifndef EPL_TEST_UNIT_PLAN_SCHEDULE_RUNS_H
#define EPL_TEST_UNIT_PLAN_SCHEDULE_RUNS_H

#include "runtime/plan/schedule/Simulate.h"

namespace epl::runtime::schedule::test {

/// Expects that each unit of the table runs on its mesh, from the time on when the mesh and all that it needs
/// are ready.
void expectRunOf(const Table &table, const Costs &costs, const Run &run);

} // namespace epl::runtime::schedule::test

#endif // EPL_TEST_UNIT_PLAN_SCHEDULE_RUNS_H
