// What a command of a plan does, as a part of a line of text.

#ifndef EPL_RUNTIME_PLAN_MODEL_DUMP_ACTION_H
#define EPL_RUNTIME_PLAN_MODEL_DUMP_ACTION_H

#include "runtime/plan/format/plan_generated.h"

#include <ostream>

namespace epl::runtime {

/// Writes an action and its operands, of whatever plan: indices need not be of anything.
void dumpAction(const plan::PlanT &plan, const plan::ActionUnion &action, std::ostream &out);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_DUMP_ACTION_H
