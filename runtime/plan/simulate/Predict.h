// What is known of a pipeline before it runs.

#ifndef EPL_RUNTIME_PLAN_SIMULATE_PREDICT_H
#define EPL_RUNTIME_PLAN_SIMULATE_PREDICT_H

#include "runtime/plan/format/plan_generated.h"

#include <string>

namespace epl::runtime {

/// What is behind the axes in the layout of a plan in micro-batches, which has passed the verifier: ", 8
/// micro-batches", of a pipeline ", 4 stages, 8 micro-batches by 1f1b, bubble 27 %". The bubble is that of
/// the plan, not of its schedule's table, if units take what `schedule::Costs` says: a step without gradients
/// has units of no B.
std::string scheduleText(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_SIMULATE_PREDICT_H
