// A plan as a picture.
#ifndef EPL_TOOLS_EPL_PLAN_RENDER_H
#define EPL_TOOLS_EPL_PLAN_RENDER_H

#include "Prices.h"

#include "runtime/plan/format/plan_generated.h"

#include <string>

namespace epl::runtime::tool {

/// The commands of a verified plan as an SVG document: a row for each lane, a box for each command (an
/// element of class "command"), an arrow for each wait (class "wait"). Time goes from left to right: a
/// command stands right of all that it comes after. Below stand two tables: which device holds which part of
/// each argument and result, and the collectives with what is received and the ops that are why. The parts of
/// a plan stand one below the other. `prices`: what commands take at best, which stands in the title of each
/// and, by limit, in the head; null: nothing of it.
std::string renderPlan(const plan::PlanT &plan, const Prices *prices);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_RENDER_H
