// Elements of tensors as numbers.

#ifndef EPL_TOOLS_EPL_RUN_ELEMENT_H
#define EPL_TOOLS_EPL_RUN_ELEMENT_H

#include "runtime/session/State.h"

#include <bit>

namespace epl::runtime::tool {

inline bool isFloatingPoint(plan::ElementType type) { return type >= plan::ElementType::f16; }

/// Calls visit(pointer to the elements) with the C++ type of the elements; bf16 as uint16_t.
template <typename Visit> decltype(auto) visitElements(const HostTensor &tensor, Visit visit) {
  switch (tensor.type.element) {
  case plan::ElementType::i1:
    return visit(reinterpret_cast<uint8_t *>(tensor.data));
  case plan::ElementType::i8:
    return visit(reinterpret_cast<int8_t *>(tensor.data));
  case plan::ElementType::i16:
    return visit(reinterpret_cast<int16_t *>(tensor.data));
  case plan::ElementType::i32:
    return visit(reinterpret_cast<int32_t *>(tensor.data));
  case plan::ElementType::i64:
    return visit(reinterpret_cast<int64_t *>(tensor.data));
  case plan::ElementType::f16:
    return visit(reinterpret_cast<_Float16 *>(tensor.data));
  case plan::ElementType::f32:
    return visit(reinterpret_cast<float *>(tensor.data));
  case plan::ElementType::f64:
    return visit(reinterpret_cast<double *>(tensor.data));
  case plan::ElementType::bf16:
    break;
  }
  return visit(reinterpret_cast<uint16_t *>(tensor.data));
}

/// Element `i` as a number. Integers beyond 2^53 lose their last digits.
inline double loadElement(const HostTensor &tensor, size_t i) {
  bool isBFloat16 = tensor.type.element == plan::ElementType::bf16;
  return visitElements(tensor, [&](auto *elements) {
    return isBFloat16 ? double(std::bit_cast<float>(uint32_t(elements[i]) << 16)) : double(elements[i]);
  });
}

/// Makes element `i` a small integer that every type holds exactly.
inline void storeElement(const HostTensor &tensor, size_t i, int64_t value) {
  bool isBFloat16 = tensor.type.element == plan::ElementType::bf16;
  visitElements(tensor, [&](auto *elements) {
    using Element = std::remove_pointer_t<decltype(elements)>;
    elements[i] = isBFloat16 ? Element(std::bit_cast<uint32_t>(float(value)) >> 16) : Element(value);
  });
}

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_RUN_ELEMENT_H
