#include "runtime/session/Boxes.h"

#include "runtime/session/LocalRange.h"

#include <algorithm>
#include <optional>

namespace epl::runtime {

namespace {

using LocalRanges = std::span<const LocalRange>;

/// What a box is of one dimension of the caller's, and where that begins in the rank's memory.
struct Segment {
  Box::Range range;
  size_t offset;
};

} // namespace

/// Of a dimension that the caller has as one and the slot as several, major first: a run of elements for each
/// place in those before the last one that is split.
static std::vector<Segment> segmentsOf(LocalRanges dims) {
  size_t last = dims.size() - 1;
  while (last > 0 && dims[last].isWhole())
    --last;
  size_t inner = dims[last].globalStride / dims.back().globalStride; // elements of what lies behind, whole
  std::vector<Segment> segments = {
      {{dims[last].begin * inner, dims[last].extent * inner, dims.back().localStride}, /*offset=*/0}};
  for (size_t dim = last; dim-- > 0;) {
    size_t elements = dims[dim].globalStride / dims.back().globalStride; // of one place
    std::vector<Segment> all;
    for (size_t place = dims[dim].begin; place < dims[dim].end(); ++place)
      for (Segment segment : segments) {
        segment.range.begin += place * elements;
        segment.offset += (place - dims[dim].begin) * dims[dim].localStride;
        all.push_back(segment);
      }
    segments = std::move(all);
  }
  return segments;
}

/// Of a dimension that has parts for the caller. The slot's outer dimension counts the pieces of a part; its
/// inner one runs along one piece of each part, one behind the other.
static std::vector<Segment> segmentsOf(const plan::CallerPartsT &parts, const LocalRange &outer,
                                       const LocalRange &inner) {
  std::vector<Segment> segments;
  size_t offset = 0, first = 0; // of a part for the caller, of its piece along `inner`
  for (int64_t extent : parts.extents) {
    size_t piece = size_t(extent) / outer.size;
    size_t begin = std::max(first, inner.begin), end = std::min(first + piece, inner.end());
    for (size_t place = outer.begin; begin < end && place < outer.end(); ++place)
      segments.push_back(
          {{offset + place * piece + begin - first, end - begin, inner.localStride},
           (place - outer.begin) * outer.localStride + (begin - inner.begin) * inner.localStride});
    offset += size_t(extent);
    first += piece;
  }
  return segments;
}

/// How many of the slot's dimensions are the caller's dimension of `extent`; 0 if that is no product of them.
static size_t countDims(LocalRanges dims, size_t extent) {
  size_t product = 1, count = 0;
  while (count < dims.size() && (count == 0 || product < extent))
    product *= dims[count++].size;
  return product == extent ? count : 0;
}

/// Of each dimension of the caller's; nothing if these are no products of the slot's.
static std::optional<std::vector<std::vector<Segment>>> allSegments(const plan::SlotT &slot,
                                                                    LocalRanges ranges) {
  std::vector<std::vector<Segment>> all;
  const std::vector<int64_t> &shape = slot.caller_shape.empty() ? slot.shape : slot.caller_shape;
  auto parts = slot.caller_parts.begin();
  size_t dim = 0; // of the slot
  for (int64_t extent : shape) {
    bool hasParts = parts != slot.caller_parts.end() && (*parts)->dim == dim;
    size_t count = countDims(ranges.subspan(dim), size_t(extent));
    if (hasParts ? ranges[dim].size * ranges[dim + 1].size != size_t(extent) : count == 0)
      return std::nullopt;
    if (hasParts)
      all.push_back(segmentsOf(**parts++, ranges[dim], ranges[dim + 1]));
    else
      all.push_back(segmentsOf(ranges.subspan(dim, count)));
    dim += hasParts ? 2 : count;
  }
  for (; dim < ranges.size(); ++dim)
    if (ranges[dim].size != 1)
      return std::nullopt;
  return all;
}

std::optional<std::vector<Box>> boxesOf(const plan::PlanT &plan, const plan::SlotT &slot,
                                        std::span<const int64_t> coordinates) {
  if (std::ranges::find(slot.shape, 0) != slot.shape.end())
    return std::vector<Box>();
  auto segmented = allSegments(slot, rangesOf(plan, slot, coordinates));
  if (!segmented)
    return std::nullopt;
  std::vector<Box> boxes(1);
  for (const std::vector<Segment> &segments : *segmented) {
    std::vector<Box> all;
    for (const Box &box : boxes)
      for (const Segment &segment : segments)
        if (segment.range.extent > 0) {
          all.push_back(box);
          all.back().dims.push_back(segment.range);
          all.back().offset += segment.offset;
        }
    boxes = std::move(all);
  }
  if (slot.caller_rows)
    for (Box &box : boxes)
      box.dims.front().begin += size_t(slot.caller_rows->first());
  return boxes;
}

} // namespace epl::runtime
