// A chunk is added by the collectives' loops, and multiplied while the first cache has it: memory is read
// once.
#include "runtime/servers/store/Average.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/NarrowFloats.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace epl::runtime::servers {
namespace {

constexpr int64_t kChunk = 4096; // elements

template <typename Float> void scale(std::byte *target, double factor, int64_t begin, int64_t end) {
  auto *elements = reinterpret_cast<Float *>(target);
  for (int64_t i = begin; i < end; ++i)
    elements[i] = Float(elements[i] * Float(factor));
}

template <typename Narrow> void scaleNarrow(std::byte *target, double factor, int64_t begin, int64_t end) {
  auto *elements = reinterpret_cast<Narrow *>(target);
  for (int64_t i = begin; i < end; ++i)
    narrow(widen(elements[i]) * float(factor), elements[i]);
}

auto scaleOf(plan::ElementType type) -> void (*)(std::byte *, double, int64_t, int64_t) {
  switch (type) {
  case plan::ElementType::f16:
    return scaleNarrow<_Float16>;
  case plan::ElementType::bf16:
    return scaleNarrow<BFloat16>;
  case plan::ElementType::f32:
    return scale<float>;
  case plan::ElementType::f64:
    return scale<double>;
  default:
    throw Error(std::string("gradients of type ") + plan::EnumNameElementType(type) +
                " have no average, expected floats");
  }
}

} // namespace

ScaledSum::ScaledSum(plan::ElementType type)
    : scale(scaleOf(type)), add(combineFunction(plan::ReductionKind::sum, type)) {}

void ScaledSum::operator()(std::span<const void *const> sources, double factor, std::byte *target,
                           size_t count) const {
  for (int64_t begin = 0; begin < int64_t(count); begin += kChunk) {
    int64_t end = std::min(begin + kChunk, int64_t(count));
    add(sources.data(), sources.size(), target, begin, end);
    if (factor != 1)
      scale(target, factor, begin, end);
  }
}

void addScaled(plan::ElementType type, std::span<const std::byte *const> sources, double factor,
               std::byte *target, size_t count) {
  std::vector<const void *> addends(sources.begin(), sources.end());
  ScaledSum{type}(addends, factor, target, count);
}

} // namespace epl::runtime::servers
