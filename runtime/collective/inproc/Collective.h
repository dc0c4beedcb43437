// Collectives between devices that share memory. Each is a few ordinary commands of every member; edges of
// the plan order them, so nothing here waits.
#ifndef EPL_RUNTIME_COLLECTIVE_INPROC_COLLECTIVE_H
#define EPL_RUNTIME_COLLECTIVE_INPROC_COLLECTIVE_H

#include "runtime/collective/inproc/Combine.h"
#include "runtime/plan/model/Blocks.h"

#include <span>

namespace epl::runtime {

/// All members' memory for one buffer, in member order.
using MemberBuffers = std::span<const void *const>;

/// Combines part `self` (Mesh.h, partOf) of all `sources`, in member order, into `target`: what of it is in
/// `only`.
void reducePart(CombineFunction combine, MemberBuffers sources, size_t self, void *target, int64_t count,
                ElementRange only = {0, INT64_MAX});

/// Combines all of `sources`, in member order, into `target`: what is in `only`.
void reduceWhole(CombineFunction combine, MemberBuffers sources, void *target, int64_t count,
                 ElementRange only = {0, INT64_MAX});

/// Copies `bytes` of the root's memory to a member's own, if it is not there already.
void copyWhole(const void *source, void *target, size_t bytes);

/// Copies into `target`, a member's own memory of the buffer, the parts that the others own. Members whose
/// source is the target itself have theirs there.
void gatherParts(MemberBuffers sources, void *target, int64_t count, size_t elementSize);

/// target[outer][member][inner] = sources[member][outer][inner].
void gatherBlocks(MemberBuffers sources, void *target, int64_t outer, int64_t inner, size_t elementSize);

/// Combines a box of all `sources`, in member order, into that of `target`. Moves the pointers.
void reduceBox(CombineFunction combine, std::span<void *> sources, void *target, const SharedBox &box,
               size_t elementSize);

/// Copies a box of `source` into that of `target`.
void copyBox(const void *source, void *target, const SharedBox &box, size_t elementSize);

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_INPROC_COLLECTIVE_H
