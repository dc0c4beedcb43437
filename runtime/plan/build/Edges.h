// The waits of a plan.
//
// Problem: the builder's commands mean what they mean one after another; lanes and ranks run freely.
// Method: addEdges goes through the commands with a map from the bytes of each buffer to the touches that a
// later one must wait for (read after write, write after read, write after write), over all members where a
// collective reads their memory. A write takes the place of the touches of its bytes, as it waits for them.
// Of states that ranks may have one memory of (SharedStates.h), the owner's writes also wait for what others
// read. elideEdges removes the waits that lane order and other waits imply, in the order of all ranks
// (Order.h): what is left is the transitive reduction. Invariant out: every two conflicting accesses of one
// buffer, on whatever ranks, are in program order.

#ifndef EPL_RUNTIME_PLAN_BUILD_EDGES_H
#define EPL_RUNTIME_PLAN_BUILD_EDGES_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>

namespace epl::runtime {

/// Adds the waits that order all conflicting accesses of buffers. Storage that buffers share is Memory.h's
/// matter. Returns how many conflicts it looked at, which tests hold to a bound.
uint64_t addEdges(plan::PlanT &plan);

/// Removes every wait that others imply.
void elideEdges(plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_EDGES_H
