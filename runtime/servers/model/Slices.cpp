#include "runtime/servers/model/Slices.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime::servers {
namespace {

/// Far more than any memory, far less than what overflows.
constexpr uint64_t maxElements = uint64_t(1) << 48;

uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

} // namespace

uint64_t elementCount(std::span<const int64_t> shape) {
  uint64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0)
      throw Error("a tensor has extent " + std::to_string(extent) + ", expected none below 0");
    if (__builtin_mul_overflow(count, uint64_t(extent), &count) || count > maxElements)
      throw Error("a tensor has more than " + std::to_string(maxElements) + " elements");
  }
  return count;
}

uint64_t rowElements(std::span<const int64_t> shape) {
  return shape.size() < 2 ? 1 : elementCount(shape.subspan(1));
}

std::vector<Slice> sliceVariable(std::span<const int64_t> shape, uint32_t count, uint64_t minBlockSize) {
  if (count == 0)
    throw Error("there are 0 servers to slice for, expected at least 1");
  if (minBlockSize == 0)
    throw Error("min_block_size is 0, expected at least 1");
  uint64_t elements = elementCount(shape);
  if (elements == 0)
    return {{0, 0}};
  uint64_t parts = std::min<uint64_t>(count, std::max<uint64_t>(elements / minBlockSize, 1));
  uint64_t row = rowElements(shape);
  uint64_t size = ceilDiv(ceilDiv(elements, parts), row) * row;
  std::vector<Slice> slices;
  for (uint64_t begin = 0; begin < elements; begin += size)
    slices.push_back({begin, std::min(size, elements - begin)});
  return slices;
}

std::vector<int64_t> sliceShape(std::span<const int64_t> shape, Slice slice) {
  std::vector<int64_t> result(shape.begin(), shape.end());
  uint64_t row = rowElements(shape);
  if (!result.empty() && row > 0)
    result[0] = int64_t(slice.size / row);
  return result;
}

std::string blockName(const std::string &tensor, size_t index, size_t count) {
  return count == 1 ? tensor : tensor + ".block" + std::to_string(index);
}

} // namespace epl::runtime::servers
