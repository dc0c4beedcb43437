// Which rank updates which state, of states that one rank updates for all.

#ifndef EPL_RUNTIME_PLAN_MODEL_OWNERS_H
#define EPL_RUNTIME_PLAN_MODEL_OWNERS_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// A state, by its slot, and the member that has it alone, or whose new value of it all others copy.
struct StateOwner {
  uint32_t state, member;
};

/// Those of a plan for one mesh, in the order of the results that update them.
std::vector<StateOwner> stateOwnersOf(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_OWNERS_H
