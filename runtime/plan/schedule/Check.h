// Whether a table is a schedule of a program.
//
// A table that passes does every unit once, and the step ends: no circle of waits of lanes and data flow. And
// it adds in the same order as every other one: a stage's units of a kind ascend, so that what they sum up,
// and what one hands to the next, is bit by bit what any other schedule of the same kinds and stages gives.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_CHECK_H
#define EPL_RUNTIME_PLAN_SCHEDULE_CHECK_H

#include "runtime/plan/schedule/Table.h"

namespace epl::runtime::schedule {

/// Throws PlanError, with all that is wrong, unless:
/// - there are at most maxMeshes meshes, each has a unit, and each stage is on one mesh;
/// - each stage has units of kinds F and B, or F, I and W (the first one, which sends no gradient back, may
/// have
///   F and I), once for each of the micro-batches, in ascending order;
/// - no units wait for each other in a circle. It is looked for when all else is right.
/// A message names units, and where they stand: mesh and word, the latter counted from 1.
void check(const Table &table, uint32_t stages, uint32_t microBatches);

/// The same of a table that is written in a file: messages begin with the file, and with line and word of
/// what they are about.
void check(const WrittenTable &written, uint32_t stages, uint32_t microBatches);

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_CHECK_H
