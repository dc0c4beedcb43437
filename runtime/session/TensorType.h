// Element type and shape of a tensor.
#ifndef EPL_RUNTIME_SESSION_TENSORTYPE_H
#define EPL_RUNTIME_SESSION_TENSORTYPE_H

#include "runtime/plan/model/Mesh.h"
#include "runtime/plan/model/Parts.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime {

/// NumPy's name of an element type: float32, bool, bfloat16, ...
const char *elementName(plan::ElementType type);

/// An element as text; nothing for a type of 16 bits, of which C++ has no numbers.
std::string elementText(plan::ElementType type, const std::byte *element);

/// What the caller's array must be to fit a slot.
struct TensorType {
  plan::ElementType element;
  std::vector<int64_t> shape;

  static TensorType of(const plan::SlotT &slot) { return {slot.type, callerShape(slot)}; }

  /// Size in memory.
  size_t bytes() const;
  /// float32[32,10]
  std::string str() const;
  bool operator==(const TensorType &) const = default;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_TENSORTYPE_H
