// Results into their slots.
//
// Problem: a result that updates an argument has no storage of its own, and the argument's old value may
// still be read when the new one is computed; another result may be an argument as it came in. Method: the
// buffer of a result's value becomes the slot's storage itself where everything that touches the storage
// comes before the value (or is the launch that makes it and may work in place); else a copy at the end. What
// that launch writes over, if nothing else reads it, has the same storage. Arguments that are results
// elsewhere are copied first, before anything changes them. Invariant out: at the end of the program each
// result's storage holds its value; no buffer is unused.

#ifndef EPL_RUNTIME_PLAN_BUILD_RESULTS_H
#define EPL_RUNTIME_PLAN_BUILD_RESULTS_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <map>

namespace epl::runtime {

/// `slotBuffers` are the buffers of the slots that have one; `values` the buffer of each result slot's value.
/// Commands and buffers get new indices; the caller lists the lanes anew. Throws PlanError if a result has no
/// value, or one of another size.
void bindResults(plan::PlanT &plan, const std::map<uint32_t, uint32_t> &slotBuffers,
                 const std::map<uint32_t, uint32_t> &values);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_RESULTS_H
