// The average of the gradients that workers have sent.
#ifndef EPL_RUNTIME_SERVERS_STORE_AVERAGE_H
#define EPL_RUNTIME_SERVERS_STORE_AVERAGE_H

#include "runtime/plan/format/plan_generated.h"

#include <cstddef>
#include <span>

namespace epl::runtime::servers {

/// target[i] = (sources[0][i] + sources[1][i] + ...) * factor for `count` elements; `target` may be one of
/// the sources, of which there is at least one. 16-bit floats are added in f32 and rounded once, then
/// multiplied in f32 and rounded. Throws Error for a type that is no float.
void addScaled(plan::ElementType type, std::span<const std::byte *const> sources, double factor,
               std::byte *target, size_t count);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_AVERAGE_H
