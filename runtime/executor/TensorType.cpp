#include "runtime/executor/TensorType.h"

#include "runtime/Error.h"

namespace epl::runtime {

namespace {
struct Element {
  size_t size;
  const char *name;
};
} // namespace

static Element describe(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::i1:
    return {1, "bool"};
  case plan::ElementType::i8:
    return {1, "int8"};
  case plan::ElementType::i16:
    return {2, "int16"};
  case plan::ElementType::i32:
    return {4, "int32"};
  case plan::ElementType::i64:
    return {8, "int64"};
  case plan::ElementType::f16:
    return {2, "float16"};
  case plan::ElementType::bf16:
    return {2, "bfloat16"};
  case plan::ElementType::f32:
    return {4, "float32"};
  case plan::ElementType::f64:
    return {8, "float64"};
  }
  throw Error("the plan has an element type that this runtime does not know");
}

size_t elementSize(plan::ElementType type) { return describe(type).size; }

const char *elementName(plan::ElementType type) { return describe(type).name; }

size_t TensorType::bytes() const {
  size_t size = elementSize(element);
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(size, size_t(extent), &size))
      throw Error("\"" + str() + "\" is no valid type of a tensor");
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
