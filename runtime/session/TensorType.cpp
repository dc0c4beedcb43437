#include "runtime/session/TensorType.h"

#include <array>
#include <charconv>
#include <cstring>

namespace epl::runtime {

const char *elementName(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::i1:
    return "bool";
  case plan::ElementType::i8:
    return "int8";
  case plan::ElementType::i16:
    return "int16";
  case plan::ElementType::i32:
    return "int32";
  case plan::ElementType::i64:
    return "int64";
  case plan::ElementType::f16:
    return "float16";
  case plan::ElementType::bf16:
    return "bfloat16";
  case plan::ElementType::f32:
    return "float32";
  case plan::ElementType::f64:
    return "float64";
  }
  return "";
}

template <typename T> static std::string textOf(const std::byte *element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  std::array<char, 32> text; // the shortest one that is read as this value has 24 characters at most
  return {text.data(), std::to_chars(text.begin(), text.end(), value).ptr};
}

std::string elementText(plan::ElementType type, const std::byte *element) {
  switch (type) {
  case plan::ElementType::i1:
    return *element == std::byte(0) ? "False" : "True";
  case plan::ElementType::i8:
    return textOf<int8_t>(element);
  case plan::ElementType::i16:
    return textOf<int16_t>(element);
  case plan::ElementType::i32:
    return textOf<int32_t>(element);
  case plan::ElementType::i64:
    return textOf<int64_t>(element);
  case plan::ElementType::f32:
    return textOf<float>(element);
  case plan::ElementType::f64:
    return textOf<double>(element);
  case plan::ElementType::f16:
  case plan::ElementType::bf16:
    return "";
  }
  return "";
}

size_t TensorType::bytes() const {
  size_t size = elementBytes(element);
  for (int64_t extent : shape)
    size *= size_t(extent);
  return size;
}

std::string TensorType::str() const {
  std::string text = elementName(element);
  text += '[';
  for (size_t dim = 0; dim < shape.size(); ++dim)
    text += (dim == 0 ? "" : ",") + std::to_string(shape[dim]);
  return text + ']';
}

} // namespace epl::runtime
