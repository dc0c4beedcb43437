#include "runtime/session/SlotLayout.h"

#include "runtime/session/TensorType.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace epl::runtime {

SlotLayout::SlotLayout(const plan::PlanT &plan, const plan::SlotT &slot, const Topology &topology)
    : shape(callerShape(slot)), elementSize(elementBytes(slot.type)), allBytes(TensorType::of(slot).bytes()),
      rankBytes(epl::runtime::localBytes(plan, slot)), alike(topology.size()) {
  std::vector<bool> splits(plan.axes.size());
  for (const auto &dim : slot.sharding)
    for (const std::string &name : dim->axes)
      splits[axisIndex(plan, name)] = true;
  Mesh mesh(plan);
  std::map<std::vector<int64_t>, uint32_t> firsts; // by the coordinates on the axes that split the slot
  blocks.reserve(topology.size());
  rankBoxes.reserve(topology.size());
  for (uint32_t rank = 0; rank < topology.size(); ++rank) {
    std::span<const int64_t> coordinates = topology.coordinates(rank);
    holders.push_back(mesh.isOwner(slot.owner.get(), rank));
    alike[rank] = rank;
    if (!holders.back()) {
      blocks.emplace_back(1);
      rankBoxes.emplace_back(std::vector<Box>());
      continue;
    }
    blocks.push_back(allBytes == 0 ? std::vector<Block>(1)
                                   : blocksOf(slot, rangesOf(plan, slot, coordinates)));
    rankBoxes.push_back(boxesOf(plan, slot, coordinates));
    contiguous &= blocks[rank].size() == 1 && blocks[rank].front().loops.empty();
    std::vector<int64_t> own(splits.size());
    for (size_t axis = 0; axis < splits.size(); ++axis)
      own[axis] = splits[axis] ? coordinates[axis] : 0;
    alike[rank] = firsts.emplace(std::move(own), rank).first->second;
  }
}

std::vector<SlotLayout::Block> SlotLayout::blocksOf(const plan::SlotT &slot,
                                                    std::span<const LocalRange> ranges) {
  std::vector<Block> blocks(1, Block{.run = elementBytes(slot.type)});
  auto parts = slot.caller_parts.begin();
  for (size_t dim = 0; dim < ranges.size(); ++dim) {
    if (parts != slot.caller_parts.end() && (*parts)->dim == dim) {
      addParts(blocks, slot, **parts++, ranges);
      ++dim; // both dimensions are done
      continue;
    }
    for (Block &block : blocks) {
      block.global += ranges[dim].begin * ranges[dim].globalStride;
      block.addLoop(ranges[dim].extent, ranges[dim].globalStride, ranges[dim].localStride);
    }
  }
  size_t skipped = slot.caller_rows && slot.caller_rows->count() > 0
                       ? TensorType::of(slot).bytes() / size_t(slot.caller_rows->count()) *
                             size_t(slot.caller_rows->first())
                       : 0;
  for (Block &block : blocks) {
    block.global += skipped;
    block.foldRuns();
  }
  return blocks;
}

/// Every block, of each part that the rank holds some of. The outer dimension counts the pieces of a part,
/// the inner one runs along one piece of each part, one behind the other.
void SlotLayout::addParts(std::vector<Block> &blocks, const plan::SlotT &slot,
                          const plan::CallerPartsT &parts, std::span<const LocalRange> ranges) {
  const LocalRange &outer = ranges[parts.dim], &inner = ranges[parts.dim + 1];
  size_t count = size_t(slot.shape[parts.dim]);
  std::vector<Block> whole = std::exchange(blocks, {});
  size_t offset = 0, first = 0; // of a part for the caller, of its piece along `inner`
  for (int64_t extent : parts.extents) {
    size_t piece = size_t(extent) / count;
    size_t begin = std::max(first, inner.begin), end = std::min(first + piece, inner.end());
    for (Block block : whole) {
      if (begin >= end)
        break;
      block.global += (offset + outer.begin * piece + begin - first) * inner.globalStride;
      block.local += (begin - inner.begin) * inner.localStride;
      block.addLoop(outer.extent, piece * inner.globalStride, outer.localStride);
      block.addLoop(end - begin, inner.globalStride, inner.localStride);
      blocks.push_back(std::move(block));
    }
    offset += size_t(extent);
    first += piece;
  }
}

SlotLayout SlotLayout::within(std::span<const uint32_t> ranks, size_t dim, size_t begin, size_t end) const {
  SlotLayout part = *this;
  part.shape[dim] = int64_t(end - begin);
  part.allBytes = elementSize;
  std::vector<size_t> strides(shape.size()); // in the part
  for (size_t each = shape.size(); each-- > 0;) {
    strides[each] = part.allBytes;
    part.allBytes *= size_t(part.shape[each]);
  }
  part.contiguous = true;
  for (uint32_t rank : ranks) {
    part.blocks[rank].clear();
    for (const Box &box : *rankBoxes[rank]) {
      Block &block = part.blocks[rank].emplace_back(Block{.local = box.offset, .run = elementSize});
      for (size_t each = 0; each < shape.size(); ++each) {
        const Box::Range &range = box.dims[each];
        block.global += (range.begin - (each == dim ? begin : 0)) * strides[each];
        block.addLoop(range.extent, strides[each], range.stride);
      }
      block.foldRuns();
    }
    part.blocks[rank].resize(std::max<size_t>(1, part.blocks[rank].size()));
    part.contiguous &= part.blocks[rank].size() == 1 && part.blocks[rank].front().loops.empty();
  }
  return part;
}

/// Appends a loop, merged with the one around it where the two are one.
void SlotLayout::Block::addLoop(size_t extent, size_t globalStride, size_t localStride) {
  if (extent == 1)
    return;
  if (!loops.empty() && loops.back().global == extent * globalStride &&
      loops.back().local == extent * localStride)
    loops.back() = {loops.back().extent * extent, globalStride, localStride};
  else
    loops.push_back({extent, globalStride, localStride});
}

/// Takes the innermost loops that are contiguous as one run.
void SlotLayout::Block::foldRuns() {
  while (!loops.empty() && loops.back().global == run && loops.back().local == run) {
    run *= loops.back().extent;
    loops.pop_back();
  }
}

/// Calls copyRun(offset in the global tensor, offset in local storage) for every run.
template <typename CopyRun> void SlotLayout::Block::forEachRun(CopyRun copyRun) const {
  std::vector<size_t> index(loops.size());
  size_t from = global, to = local;
  auto advance = [&] { // false behind the last run
    for (size_t loop = loops.size(); loop-- > 0;) {
      from += loops[loop].global;
      to += loops[loop].local;
      if (++index[loop] < loops[loop].extent)
        return true;
      from -= loops[loop].global * loops[loop].extent;
      to -= loops[loop].local * loops[loop].extent;
      index[loop] = 0;
    }
    return false;
  };
  do
    copyRun(from, to);
  while (advance());
}

void SlotLayout::copyToLocal(uint32_t rank, const std::byte *global, std::byte *local) const {
  if (rankBytes == 0)
    return; // there may be no memory
  for (const Block &block : blocks[rank])
    block.forEachRun([&](size_t from, size_t to) { std::memcpy(local + to, global + from, block.run); });
}

void SlotLayout::copyToGlobal(uint32_t rank, const std::byte *local, std::byte *global) const {
  if (rankBytes == 0)
    return; // there may be no memory
  for (const Block &block : blocks[rank])
    block.forEachRun([&](size_t to, size_t from) { std::memcpy(global + to, local + from, block.run); });
}

} // namespace epl::runtime
