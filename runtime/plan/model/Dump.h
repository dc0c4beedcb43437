// Plans as text, for people and for FileCheck.

#ifndef EPL_RUNTIME_PLAN_MODEL_DUMP_H
#define EPL_RUNTIME_PLAN_MODEL_DUMP_H

#include "runtime/plan/format/plan_generated.h"

#include <string>

namespace epl::runtime {

/// The whole plan but its code: tables in order, then each lane with its commands. The signs before numbers
/// are those of errors: c communicator, s slot, b buffer, k kernel, # command. Safe on a plan that is not
/// valid. The text is stable: a line changes only if what it shows does.
std::string dumpPlan(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_DUMP_H
