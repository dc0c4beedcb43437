// The commands by which a plan has what comes from outside, and gives what goes there.

#ifndef EPL_RUNTIME_PLAN_BUILD_OUTSIDE_H
#define EPL_RUNTIME_PLAN_BUILD_OUTSIDE_H

#include "runtime/plan/format/plan_generated.h"

namespace epl::runtime {

/// Adds a pull for each pulled argument, before all other commands, in the order in which these read them;
/// and a push for each pushed result, right behind the last command that writes it. Results are in their
/// slots already; commands have no places in lanes yet. Whether there are any.
bool addOutside(plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_OUTSIDE_H
