// Where the rows of a table's ids are.
#ifndef EPL_RUNTIME_SERVERS_STORE_ROWINDEX_H
#define EPL_RUNTIME_SERVERS_STORE_ROWINDEX_H

#include "runtime/host/MemoryAllocator.h"

#include <cstdint>
#include <vector>

namespace epl::runtime::servers {

/// Numbers of rows by 32 bits of their ids' hashes; who knows the ids tells apart those that share a hash.
/// Entries lie in the order of hashes, each at or closely behind the place that its hash has in proportion.
/// So a search reads one line of the cache, which may be prefetched: of many searches none waits for another.
class RowIndex {
public:
  using Row = uint32_t;
  static constexpr Row kNone = UINT32_MAX;
  /// How many there may be.
  static constexpr size_t kMostRows = size_t(3) << 30;

  size_t size() const { return count; }
  size_t bytes() const { return places.capacity() * sizeof(Place); }

  /// Has what a search reads on its way into the cache.
  void prefetch(uint32_t hash) const { __builtin_prefetch(places.data() + home(hash)); }
  /// The first row with the hash that `is(row)` takes; kNone if there is none.
  template <typename Is> Row find(uint32_t hash, const Is &is) const {
    if (count == 0)
      return kNone;
    for (const Place *place = from(hash); place->row != kNone && place->hash == hash; ++place)
      if (is(place->row))
        return place->row;
    return kNone;
  }
  /// Adds a row, which is not there.
  void insert(uint32_t hash, Row row);
  /// Removes a row, which is there with this hash.
  void erase(uint32_t hash, Row row);
  void clear();

private:
  struct Place {
    uint32_t hash = 0;
    Row row = kNone; // kNone: free
  };
  using Places = std::vector<Place, MemoryAllocator<Place>>;

  size_t home(uint32_t hash) const { return size_t((uint64_t(hash) * capacity) >> 32); }
  /// The first place that is free, or whose hash is not below this one, from its home on.
  const Place *from(uint32_t hash) const {
    const Place *place = places.data() + home(hash);
    while (place->row != kNone && place->hash < hash)
      ++place;
    return place;
  }
  bool put(uint32_t hash, Row row);
  void rebuild(size_t homes, size_t tail);
  bool refill(const Places &before);

  Places places;       // `capacity` homes, and a tail of places behind them; the last place is free
  size_t capacity = 0; // at most 2^32
  size_t count = 0;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_ROWINDEX_H
