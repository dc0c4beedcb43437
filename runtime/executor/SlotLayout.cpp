#include "runtime/executor/SlotLayout.h"

#include "runtime/executor/TensorType.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime {

/// The index of an axis that the plan is known to have.
static size_t axisIndex(const plan::PlanT &plan, const std::string &name) {
  auto named = [&](const auto &axis) { return axis->name == name; };
  return size_t(std::find_if(plan.axes.begin(), plan.axes.end(), named) - plan.axes.begin());
}

SlotLayout::SlotLayout(const plan::PlanT &plan, const plan::SlotT &slot, const Topology &topology)
    : allBytes(TensorType::of(slot).bytes()), rankBytes(allBytes), runBytes(elementBytes(slot.type)),
      offsets(topology.size()), primary(topology.size(), true) {
  std::vector<bool> splits(plan.axes.size());
  size_t span = allBytes; // bytes of what is left of the current dimension and all inside it
  for (size_t dim = 0; dim < slot.shape.size(); ++dim) {
    size_t extent = size_t(slot.shape[dim]);
    for (const std::string &name : slot.sharding[dim]->axes) {
      size_t axis = axisIndex(plan, name), size = plan.axes[axis]->size;
      extent /= size;
      span /= size;
      rankBytes /= size;
      splits[axis] = true;
      for (uint32_t rank = 0; rank < topology.size(); ++rank)
        offsets[rank] += size_t(topology.coordinates(rank)[axis]) * span;
    }
    span = extent == 0 ? 0 : span / extent;
    addLoop(extent, span);
  }
  foldRuns();
  for (uint32_t rank = 0; rank < topology.size(); ++rank)
    for (size_t axis = 0; axis < splits.size(); ++axis)
      if (!splits[axis] && topology.coordinates(rank)[axis] != 0)
        primary[rank] = false;
}

/// Takes the innermost loops that are contiguous as one run.
void SlotLayout::foldRuns() {
  if (allBytes == 0)
    loops.clear();
  while (!loops.empty() && loops.back().stride == runBytes) {
    runBytes *= loops.back().extent;
    loops.pop_back();
  }
}

/// Appends a loop, merged with the one around it where the two are one.
void SlotLayout::addLoop(size_t extent, size_t stride) {
  if (extent == 1)
    return;
  if (!loops.empty() && loops.back().stride == extent * stride)
    loops.back() = {loops.back().extent * extent, stride};
  else
    loops.push_back({extent, stride});
}

/// Calls copyRun(offset in the block as it lies in the global tensor, offset in local storage) for every run.
template <typename CopyRun> void SlotLayout::forEachRun(CopyRun copyRun) const {
  std::vector<size_t> index(loops.size());
  size_t global = 0;
  for (size_t local = 0; local < rankBytes; local += runBytes) {
    copyRun(global, local);
    for (size_t loop = loops.size(); loop-- > 0;) {
      global += loops[loop].stride;
      if (++index[loop] < loops[loop].extent)
        break;
      global -= loops[loop].stride * loops[loop].extent;
      index[loop] = 0;
    }
  }
}

void SlotLayout::copyToLocal(uint32_t rank, const std::byte *global, std::byte *local) const {
  forEachRun(
      [&](size_t from, size_t to) { std::memcpy(local + to, global + offsets[rank] + from, runBytes); });
}

void SlotLayout::copyToGlobal(uint32_t rank, const std::byte *local, std::byte *global) const {
  forEachRun(
      [&](size_t to, size_t from) { std::memcpy(global + offsets[rank] + to, local + from, runBytes); });
}

} // namespace epl::runtime
