// The timeline of a table as text: a line for each mesh.
//
//     mesh 0  F0 F1 ..... B0--- F2 B1--- .. B2---      a unit: kind and micro-batch, `-` until it ends
//     mesh 1  .. F0 B0--- F1 B1--- F2 B2--- .....      `.`: the mesh waits
//
// Where a mesh has several stages a unit begins with its stage, 4F0. What is longer than a line goes on in
// further blocks.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_RENDER_H
#define EPL_RUNTIME_PLAN_SCHEDULE_RENDER_H

#include "runtime/plan/schedule/Simulate.h"

namespace epl::runtime::schedule {

/// Lines of at most `width` columns, 40 or more. The shortest unit has room for its name, but for timelines
/// of more than `mostColumns`: there, units that have none are drawn by the letters of their kinds.
std::string render(const Run &run, size_t width, double mostColumns = 4000);

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_RENDER_H
