#include "runtime/plan/model/Strides.h"

#include "runtime/plan/model/Names.h"

#include <algorithm>

namespace epl::runtime {

bool isInjective(std::vector<StridedDim> dims) {
  if (std::ranges::any_of(dims, [](StridedDim dim) { return dim.extent == 0; }))
    return true;
  std::erase_if(dims, [](StridedDim dim) { return dim.extent == 1; });
  std::ranges::sort(dims, {}, &StridedDim::stride);
  int64_t reach = 0;
  for (StridedDim dim : dims) {
    if (dim.stride <= reach)
      return false;
    reach += dim.stride * (dim.extent - 1);
  }
  return true;
}

std::string faultOfStrided(const plan::PlanT &plan, uint32_t buffer, const std::vector<StridedDim> &dims,
                           plan::ElementType type, const std::string &name) {
  bool empty = std::ranges::any_of(dims, [](StridedDim dim) { return dim.extent == 0; });
  bool fits = true;
  int64_t last = 0;
  for (StridedDim dim : dims) {
    if (dim.extent < 0 || dim.stride < 0)
      return " has a loop of " + std::to_string(dim.extent) + " steps of " + std::to_string(dim.stride) +
             " in " + name + ", expected none negative";
    int64_t step = 0;
    fits = !__builtin_mul_overflow(std::max(dim.extent - 1, int64_t(0)), dim.stride, &step) &&
           !__builtin_add_overflow(last, step, &last) && fits;
  }
  uint64_t bytes = elementBytes(type), elements = plan.buffers[buffer]->size / bytes;
  std::vector<ByteRange> ranges;
  if (!empty && (!fits || uint64_t(last) >= elements))
    return " reaches element " + (fits ? std::to_string(last) : "beyond 2^63") + " of " + name +
           " in buffer " + bufferName(plan, buffer) + ", which has " + std::to_string(elements);
  return stridedRanges(dims, bytes, ranges)
             ? ""
             : " scatters " + name + " over more than " + std::to_string(maxRanges) + " ranges";
}

} // namespace epl::runtime
