// What a step exchanges with what is outside of its plan, such as parameter servers, while it runs.

#ifndef EPL_RUNTIME_PLAN_MODEL_OUTSIDE_H
#define EPL_RUNTIME_PLAN_MODEL_OUTSIDE_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// Whether a slot is a result of the step, whoever gets it; else it is an argument.
inline bool isResult(const plan::SlotT &slot) {
  return slot.role == plan::SlotRole::result || slot.role == plan::SlotRole::pushed;
}

/// Whether a slot is an argument that has its value before the step.
inline bool isGiven(const plan::SlotT &slot) {
  return !isResult(slot) && slot.role != plan::SlotRole::pulled;
}

/// Whether something comes from outside, or goes there.
bool hasOutside(const plan::PlanT &plan);

/// The slot that a pull or a push is of; -1 of other commands. Needs a plan that passes the verifier.
int32_t outsideSlotOf(const plan::PlanT &plan, const plan::CommandT &command);

/// The pulled slots of a whole plan, in the order in which it uses them: part by part, in the order of their
/// commands. Needs a plan that passes the verifier.
std::vector<uint32_t> pulledSlotsOf(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_OUTSIDE_H
