// The average of the gradients that workers have sent.
#ifndef EPL_RUNTIME_SERVERS_STORE_AVERAGE_H
#define EPL_RUNTIME_SERVERS_STORE_AVERAGE_H

#include "runtime/collective/inproc/Combine.h"

#include <cstddef>
#include <span>

namespace epl::runtime::servers {

/// Sums of tensors of a type, multiplied by a factor. 16-bit floats are added in f32 and rounded once, then
/// multiplied in f32 and rounded.
class ScaledSum {
public:
  /// Throws Error for a type that is no float.
  explicit ScaledSum(plan::ElementType type);

  /// target[i] = (sources[0][i] + sources[1][i] + ...) * factor for `count` elements; `target` may be one of
  /// the sources, of which there is at least one.
  void operator()(std::span<const void *const> sources, double factor, std::byte *target, size_t count) const;

private:
  using Scale = void (*)(std::byte *target, double factor, int64_t begin, int64_t end);

  Scale scale;
  CombineFunction add;
};

/// The same at once.
void addScaled(plan::ElementType type, std::span<const std::byte *const> sources, double factor,
               std::byte *target, size_t count);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_AVERAGE_H
