#include "runtime/session/LocalRange.h"

#include "runtime/plan/model/Mesh.h"

#include <algorithm>

namespace epl::runtime {

size_t axisIndex(const plan::PlanT &plan, const std::string &name) {
  auto named = [&](const auto &axis) { return axis->name == name; };
  return size_t(std::ranges::find_if(plan.axes, named) - plan.axes.begin());
}

std::vector<LocalRange> rangesOf(const plan::PlanT &plan, const plan::SlotT &slot,
                                 std::span<const int64_t> coordinates) {
  std::vector<LocalRange> ranges(slot.shape.size());
  size_t global = elementBytes(slot.type), local = global;
  for (size_t dim = slot.shape.size(); dim-- > 0;) {
    auto size = size_t(slot.shape[dim]);
    LocalRange &range = ranges[dim] = {size, 0, size, global, local};
    global *= size;
    for (const std::string &name : slot.sharding[dim]->axes) {
      size_t axis = axisIndex(plan, name);
      range.extent /= plan.axes[axis]->size;
      range.begin += size_t(coordinates[axis]) * range.extent;
    }
    local *= range.extent;
  }
  return ranges;
}

} // namespace epl::runtime
