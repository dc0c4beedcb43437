#include "runtime/servers/store/LaneIds.h"

#include "runtime/servers/store/RowIndex.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace epl::runtime::servers {

/// By the key's lower half: the index of a lane's rows has them in the order of the upper one.
uint32_t laneOf(int64_t id, uint32_t lanes) {
  return lanes == 1 ? 0 : uint32_t((uint64_t(uint32_t(RowIndex::keyOf(id))) * lanes) >> 32);
}

LaneIds::LaneIds(std::span<const int64_t> ids, uint32_t lanes, size_t chunkSize, Check check)
    : ids(ids), lanes(lanes), chunkSize(chunkSize), check(std::move(check)),
      chunks((ids.size() + chunkSize - 1) / chunkSize) {
  assert(chunkSize > 0 && chunkSize <= kLargestChunk);
}

size_t LaneIds::endOf(size_t chunk) const { return std::min(beginOf(chunk + 1), ids.size()); }

std::span<const uint16_t> LaneIds::of(size_t number, uint32_t lane) {
  Chunk &chunk = chunks[number];
  // call_once itself may not be left by an exception: with sanitizers the next caller would wait without end.
  std::call_once(chunk.once, [&] {
    try {
      deal(number);
    } catch (...) {
      chunk.failure = std::current_exception();
    }
  });
  if (chunk.failure)
    std::rethrow_exception(chunk.failure);
  return std::span(chunk.positions).subspan(chunk.first[lane], chunk.first[lane + 1] - chunk.first[lane]);
}

void LaneIds::deal(size_t number) {
  size_t begin = beginOf(number), end = endOf(number);
  check(begin, end);
  Chunk &chunk = chunks[number];
  std::vector<uint32_t> laneOfEach(end - begin);
  chunk.first.assign(lanes + 1, 0);
  for (size_t i = begin; i < end; ++i)
    ++chunk.first[(laneOfEach[i - begin] = laneOf(ids[i], lanes)) + 1];
  std::partial_sum(chunk.first.begin(), chunk.first.end(), chunk.first.begin());
  std::vector<uint32_t> next(chunk.first.begin(), chunk.first.end() - 1);
  chunk.positions.resize(end - begin);
  for (size_t i = 0; i < end - begin; ++i)
    chunk.positions[next[laneOfEach[i]]++] = uint16_t(i);
}

} // namespace epl::runtime::servers
