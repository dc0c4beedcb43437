// The layout of the arena.
//
// Problem: one arena per rank, allocated once; many tensors, each alive for a part of the step.
// Method: two buffers may share bytes if all accesses of one, on whatever ranks, come before every write of
// the other in the order that lanes and waits make anyway: the layout adds no wait, so it never slows a step
// down. First an output takes the place of an input that dies in its launch, where the kernel allows it, and
// the sum of an all-reduce that of its summand; then the buffers are placed, the largest first, into the
// tightest gap between those already placed that they must not meet (greedy by size with best fit, as in Y.
// Pisarchyk, J. Lee, Efficient Memory Management for Deep Neural Net Inference, 2020). That is done in four
// orders, by size and by size times life. Of the accesses of a place only the outermost of each lane and
// scope count, as clocks grow along a lane. A segment tree over the commands (J. Bentley, Solutions to Klee's
// rectangle problems, 1977) names the places that are alive with a given one, so memory is linear, and time
// grows with the pairs that are alive together; no pair is stored. Last a sweep places the buffers in program
// order, each into the tightest gap of what is free by then for the lane that writes it: a buffer frees its
// bytes for a lane at the first command of it that comes behind all accesses. That takes near-linear time,
// whatever is alive together, so of large plans with many pairs it is all that is done. The least arena is
// taken.
// Invariant in: the waits of the plan order all conflicting accesses of each buffer (Edges.h).
// Invariant out: offsets are multiples of arenaAlignment; buffers that overlap never hold live data together.

#ifndef EPL_RUNTIME_PLAN_BUILD_MEMORY_H
#define EPL_RUNTIME_PLAN_BUILD_MEMORY_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>

namespace epl::runtime {

/// Sets the offset of every arena buffer, and the size of the arena. Returns how many pairs of places it
/// looked at, which tests hold to a bound.
uint64_t planMemory(plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_MEMORY_H
