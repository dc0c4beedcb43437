// Collectives between devices that share memory. Each is a few ordinary commands of every member; edges of
// the plan order them, so nothing here waits.
#pragma once

#include "runtime/collective/inproc/Combine.h"

#include <span>
#include <utility>

namespace epl::runtime {

/// The part of `count` elements that member `part` of `parts` owns: [count*part/parts, count*(part+1)/parts)
/// with inner cut points rounded down to multiples of 16, so that no two members write one cache line of f32.
std::pair<int64_t, int64_t> partRange(int64_t count, size_t part, size_t parts);

/// All members' memory for one buffer, in member order.
using MemberBuffers = std::span<const void *const>;

/// Combines part `self` of all `sources`, in member order, into `target`.
void reducePart(CombineFunction combine, MemberBuffers sources, size_t self, void *target, int64_t count);

/// Copies into `target` (member self's own memory of the buffer) the parts that the others own.
void gatherParts(MemberBuffers sources, size_t self, void *target, int64_t count, size_t elementSize);

/// target[outer][member][inner] = sources[member][outer][inner].
void gatherBlocks(MemberBuffers sources, void *target, int64_t outer, int64_t inner, size_t elementSize);

} // namespace epl::runtime
