// States in memory of the host.
//
// Problem: between its uses a state takes memory of a card for nothing; all states together may not fit
// there. Method: states are slots in memory of the host, and what reads one reads a copy, an ordinary buffer
// of the arena, whose bytes are free before the copy begins and behind its last use. Copies are on two lanes
// of their own, one for each direction, beside the computation:
//
//   copies in    w1 | w2 | w3  | ...            m1 v1 | m2 v2 |
//   computation       w1   | w2   | w3 | ...           update1 | update2 |
//   copies out                                                    w1 m1 v1 | w2 m2 v2
//
//   - A copy serves later readers as long as what was copied since then is, in all, no larger than itself.
//     So the backward work of the last layer reads what the forward work has read, that of others a copy of
//     its own.
//   - Copies run ahead of their first readers by no more bytes than the command has that reads most: each
//     waits for the end of the computation before the reader of the last copy that is further ahead.
//   - A new value is copied out when it is there and what reads the old one has its copy. Copies in wait for
//     those copies out that may have begun before the copies that they follow: their bytes are free then.
//
// A step that makes the first states of another one has nothing to copy in: there what makes a value that is
// copied out, and reads no copy, waits for the copies out that are behind by more than one command makes.
// Numbers, tensors without dimensions, stay on the card: there is nothing to gain.
// Invariant out: of the slots in memory of the host only copies from and to the arena are left.

#ifndef EPL_RUNTIME_PLAN_BUILD_OFFLOAD_H
#define EPL_RUNTIME_PLAN_BUILD_OFFLOAD_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <map>

namespace epl::runtime {

/// Puts the states of a plan whose commands are in program order, but whose waits are still to be added, into
/// memory of the host; `withResults`: and what it gives beside new states. `slotBuffers` and `results` are as
/// for bindResults (Results.h); of results that are in the host then the value is the slot's own buffer.
/// Commands get new indices; the caller lists the lanes anew. Needs a plan that passes the verifier's checks
/// of tables and commands.
void offloadStates(plan::PlanT &plan, const std::map<uint32_t, uint32_t> &slotBuffers,
                   std::map<uint32_t, uint32_t> &results, bool withResults);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_OFFLOAD_H
