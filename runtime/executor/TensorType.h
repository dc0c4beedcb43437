// Element type and shape of a tensor.
#pragma once

#include "runtime/plan/plan_generated.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime {

/// Bytes of one element.
size_t elementSize(plan::ElementType type);

/// NumPy's name of an element type: float32, bool, bfloat16, ...
const char *elementName(plan::ElementType type);

/// What an array must be to fit a slot.
struct TensorType {
  plan::ElementType element;
  std::vector<int64_t> shape;

  static TensorType of(const plan::SlotT &slot) { return {slot.type, slot.shape}; }

  /// Size in bytes; throws Error if an extent is negative or the size passes 64 bits.
  size_t bytes() const;
  /// float32[32,10]
  std::string str() const;
  bool operator==(const TensorType &) const = default;
};

} // namespace epl::runtime
