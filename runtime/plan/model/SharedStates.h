// States of which the ranks of one process can have one memory, though a step updates them.
//
// Problem: a state that one rank updates for all (epl-assign-owners) is the same on every rank between steps,
// so where ranks of a process have one address space, N copies of it hold one value. With one memory the
// owner's write is seen by all at once: it must come behind every read of the old value, and the copy to the
// others has nothing to do.
//
//     rank 0 (owner)     layer    layer'    sum    update    copy     next reads
//     rank 1             layer    layer'                     copy     next reads
//                        reads, before the update            behind it
//
// Method: what a plan's commands do with the state is looked at in program order; whether the owner's writes
// come behind the reads of all ranks says the order of all ranks (Order.h). The builder adds the waits that
// make it so. Plans say nothing of this: they are right with a memory for each rank, too, and who loads one
// proves what it uses. A state that is its own next value, as those of an evaluation are, is never written.

#ifndef EPL_RUNTIME_PLAN_MODEL_SHARED_STATES_H
#define EPL_RUNTIME_PLAN_MODEL_SHARED_STATES_H

#include "runtime/plan/model/Order.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// A state that all ranks of a mesh hold whole, and that none updates, or one does for all.
struct SharedState {
  uint32_t slot;
  std::vector<uint32_t> writes;       ///< commands of the owner
  uint32_t communicator;              ///< if it is written: of all ranks of the mesh
  std::vector<uint32_t> earlierReads; ///< commands that read the old value, on any rank
  std::vector<uint32_t> laterReads;   ///< commands that read the new one, on any rank
};

/// Those of a plan for one mesh, in which each command accesses the state as if all ranks had one memory of
/// it, if what runs before what in program order does so on all ranks. Needs a plan that passes the
/// verifier's checks of tables and commands.
std::vector<SharedState> sharedStatesOf(const plan::PlanT &plan);

/// Whether the waits of its plan put all accesses of a state that is written in program order, whatever ranks
/// they are on.
bool isOrdered(const SharedState &state, const Order &order);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_SHARED_STATES_H
