#include "runtime/executor/SlotLayout.h"

#include "runtime/Error.h"
#include "runtime/executor/TensorType.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime {

SlotLayout::SlotLayout(const plan::SlotT &slot, const Topology &topology)
    : allBytes(TensorType::of(slot).bytes()), rankBytes(allBytes), runBytes(elementSize(slot.type)),
      offsets(topology.size()) {
  std::vector<bool> splits(topology.numAxes());
  size_t span = allBytes; // bytes of what is left of the current dimension and all inside it
  for (size_t dim = 0; dim < slot.shape.size(); ++dim) {
    size_t extent = size_t(slot.shape[dim]);
    if (dim < slot.sharding.size())
      for (const std::string &name : slot.sharding[dim]->axes) {
        uint32_t axis = topology.axisIndex(name);
        uint32_t size = topology.axisSize(axis);
        if (size == 0 || extent % size != 0)
          throw Error("dimension " + std::to_string(dim) + " of slot \"" + slot.name + "\" (" +
                      std::to_string(slot.shape[dim]) + ") is not divisible by the mesh axes that split it");
        if (splits[axis])
          throw Error("mesh axis \"" + name + "\" splits slot \"" + slot.name + "\" twice");
        splits[axis] = true;
        extent /= size;
        span /= size;
        splitBy(axis, span, topology);
      }
    span = extent == 0 ? 0 : span / extent;
    addLoop(extent, span);
  }
  foldRuns();
  findPrimaries(topology, splits);
}

/// Splits the dimension at hand by a mesh axis into pieces of `span` bytes.
void SlotLayout::splitBy(uint32_t axis, size_t span, const Topology &topology) {
  if (topology.isTemporal(axis))
    return addLoop(topology.axisSize(axis), span);
  rankBytes /= topology.axisSize(axis);
  for (uint32_t rank = 0; rank < topology.size(); ++rank)
    offsets[rank] += size_t(topology.coordinates(rank)[axis]) * span;
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

void SlotLayout::findPrimaries(const Topology &topology, const std::vector<bool> &splits) {
  for (uint32_t rank = 0; rank < topology.size(); ++rank) {
    auto coordinates = topology.coordinates(rank);
    bool first = true;
    for (size_t axis = 0; axis < coordinates.size(); ++axis)
      first &= splits[axis] || coordinates[axis] == 0;
    primary.push_back(first);
  }
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
