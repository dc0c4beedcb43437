// A plan's pipeline as a picture.
#ifndef EPL_TOOLS_EPL_PLAN_RENDERUNITS_H
#define EPL_TOOLS_EPL_PLAN_RENDERUNITS_H

#include "runtime/plan/simulate/Simulate.h"

#include <string>

namespace epl::runtime::tool {

/// The units of micro-batches in a run of a verified plan's commands as text: a line for each mesh (as
/// schedule/Render.h has it, `.` also where a mesh does what is of no unit). `origin`: what the run is,
/// "simulated". Throws Error if the plan has no units.
std::string unitsText(const plan::PlanT &plan, const PlanRun &run, const std::string &origin);

/// The same as an SVG document: a row for each mesh, a box for each unit (an element of class "unit", and of
/// its kind, F, B, I or W) with the number of its micro-batch, grey boxes (class "other") for commands of no
/// unit.
std::string unitsPicture(const plan::PlanT &plan, const PlanRun &run, const std::string &origin);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_RENDERUNITS_H
