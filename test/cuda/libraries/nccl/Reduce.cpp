//===- Reduce.cpp - Results of several members ----------------------------===//

#include "test/cuda/libraries/nccl/Reduce.h"

#include "runtime/device/cpu/NarrowFloats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace nccl_double;
using epl::runtime::BFloat16;

/// A maximum or minimum is of what is no NaN, as on cards.
template <typename T> static T combineFloats(Reduction reduction, T a, T b) {
  switch (reduction) {
  case Reduction::sum:
    return a + b;
  case Reduction::prod:
    return a * b;
  case Reduction::max:
    return std::fmax(a, b);
  case Reduction::min:
    return std::fmin(a, b);
  }
  return a;
}

template <typename T> static T combine(Reduction reduction, T a, T b) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, _Float16>) {
    T result;
    epl::runtime::narrow(combineFloats(reduction, epl::runtime::widen(a), epl::runtime::widen(b)), result);
    return result;
  } else if constexpr (std::is_floating_point_v<T>) {
    return combineFloats(reduction, a, b);
  } else {
    using Wrapping = std::make_unsigned_t<T>;
    if (reduction == Reduction::sum)
      return T(Wrapping(a) + Wrapping(b));
    if (reduction == Reduction::prod)
      return T(Wrapping(a) * Wrapping(b));
    return reduction == Reduction::max ? std::max(a, b) : std::min(a, b);
  }
}

/// Elements may be at any address.
template <typename T> static T load(const std::byte *from, uint64_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
static void reduceAs(Reduction reduction, std::span<const std::byte *const> members, int first,
                     uint64_t count, std::byte *to) {
  for (uint64_t i = 0; i < count; ++i) {
    T value = load<T>(members[static_cast<size_t>(first)], i);
    for (size_t hop = 1; hop < members.size(); ++hop)
      value =
          combine(reduction, value, load<T>(members[(static_cast<size_t>(first) + hop) % members.size()], i));
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

void nccl_double::reduceInRing(DataType type, Reduction reduction, std::span<const std::byte *const> members,
                               int first, uint64_t count, std::byte *to) {
  static constexpr decltype(&reduceAs<float>) functions[] = {
      reduceAs<int8_t>,   reduceAs<uint8_t>,  reduceAs<int32_t>, reduceAs<uint32_t>, reduceAs<int64_t>,
      reduceAs<uint64_t>, reduceAs<_Float16>, reduceAs<float>,   reduceAs<double>,   reduceAs<BFloat16>};
  functions[static_cast<size_t>(type)](reduction, members, first, count, to);
}
