#include "runtime/session/TensorType.h"

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
