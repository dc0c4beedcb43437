// The waits of a plan.
//
// Problem: the builder's commands mean what they mean one after another; lanes and ranks run freely.
// Method: addEdges puts a wait between every two commands of which one writes what the other touches (read
// after write, write after read, write after write), over all members where a collective reads their memory.
// elideEdges removes the waits that lane order and other waits imply, in the order of all ranks (Order.h):
// what is left is the transitive reduction.
// Invariant out: every two conflicting accesses of one buffer, on whatever ranks, are in program order.

#ifndef EPL_RUNTIME_PLAN_BUILD_EDGES_H
#define EPL_RUNTIME_PLAN_BUILD_EDGES_H

#include "runtime/plan/format/plan_generated.h"

namespace epl::runtime {

/// Adds every wait that the accesses of buffers need. Storage that buffers share is Memory.h's matter.
void addEdges(plan::PlanT &plan);

/// Removes every wait that others imply.
void elideEdges(plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_EDGES_H
