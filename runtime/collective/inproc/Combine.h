// Element loops of reductions.
#ifndef EPL_RUNTIME_COLLECTIVE_INPROC_COMBINE_H
#define EPL_RUNTIME_COLLECTIVE_INPROC_COMBINE_H

#include "runtime/plan/format/plan_generated.h"

#include <cstddef>
#include <cstdint>

namespace epl::runtime {

/// target[i] = sources[0][i] (op) sources[1][i] (op) ..., in this order, for i in [begin, end). `target` may
/// be one of the sources. bf16 and f16 are combined in f32 and rounded once.
using CombineFunction = void (*)(const void *const *sources, size_t numSources, void *target, int64_t begin,
                                 int64_t end);

/// The loop for a reduction of a type; throws Error if the type has no such reduction: all and any are of i1
/// alone, the others of all other types.
CombineFunction combineFunction(plan::ReductionKind reduction, plan::ElementType type);

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_INPROC_COMBINE_H
