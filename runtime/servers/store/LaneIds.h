// Which ids of a list each lane of a server has.
#ifndef EPL_RUNTIME_SERVERS_STORE_LANEIDS_H
#define EPL_RUNTIME_SERVERS_STORE_LANEIDS_H

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace epl::runtime::servers {

/// Which of so many lanes has an id.
uint32_t laneOf(int64_t id, uint32_t lanes);

/// A list of ids in chunks, each of which is dealt out to the lanes once, by the first lane that comes to it.
class LaneIds {
public:
  static constexpr size_t kLargestChunk = size_t(1) << 14; // ids

  /// Called once for each chunk, with where it begins and ends; throws Error if something is wrong with its
  /// ids.
  using Check = std::function<void(size_t begin, size_t end)>;

  /// The ids stay as they are while this is in use. `chunkSize`: at most kLargestChunk.
  LaneIds(std::span<const int64_t> ids, uint32_t lanes, size_t chunkSize, Check check);

  size_t numChunks() const { return chunks.size(); }
  size_t beginOf(size_t chunk) const { return chunk * chunkSize; }
  size_t endOf(size_t chunk) const;
  /// Where in the chunk the ids of a lane stand, ascending. By any lane; throws what the check throws.
  std::span<const uint16_t> of(size_t chunk, uint32_t lane);

private:
  struct Chunk {
    std::once_flag once;
    std::exception_ptr failure;      // of the check
    std::vector<uint16_t> positions; // those of lane 0, then those of lane 1, ...
    std::vector<uint32_t> first;     // of each lane in `positions`, and behind them how many these are
  };

  void deal(size_t number);

  std::span<const int64_t> ids;
  const uint32_t lanes;
  const size_t chunkSize;
  const Check check;
  std::vector<Chunk> chunks;
};

/// Goes through the ids of a lane.
class LaneCursor {
public:
  LaneCursor(LaneIds &ids, uint32_t lane) : ids(&ids), lane(lane) {}

  /// Whether there is another one, whose place in the list `position` then is.
  bool next() {
    while (at == here.size()) {
      if (chunk == ids->numChunks())
        return false;
      begin = ids->beginOf(chunk), at = 0;
      here = ids->of(chunk++, lane);
    }
    position = begin + here[at++];
    return true;
  }

  size_t position = 0;

private:
  LaneIds *ids;
  uint32_t lane;
  size_t chunk = 0, begin = 0, at = 0;
  std::span<const uint16_t> here;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_LANEIDS_H
