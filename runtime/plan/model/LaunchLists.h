// Launches of one code that can be one, as those of an optimizer: a launch for each tensor takes longer to
// begin than most of them take to run.
#ifndef EPL_RUNTIME_PLAN_MODEL_LAUNCHLISTS_H
#define EPL_RUNTIME_PLAN_MODEL_LAUNCHLISTS_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/model/Mesh.h"

#include <span>
#include <vector>

namespace epl::runtime {

/// Of the commands of a plan, lists of launches that can run as one, which takes the place of the last of
/// them: two or more that follow one another in their lane, whose kernels have one code and one shape of
/// blocks, at most 2^31 - 1 together, and of which none touches bytes that another one writes, and none is a
/// part of attention, which may be nothing. `places[command]` is the place of each command in an order in
/// which all that a command waits for comes before it, on all parts of the plan: no command between the first
/// and the last of a list waits for one of it.
std::vector<std::vector<uint32_t>> findLaunchLists(const plan::PlanT &plan, const Mesh &mesh,
                                                   std::span<const size_t> places);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_LAUNCHLISTS_H
