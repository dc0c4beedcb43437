// Where the rows of a table's ids are.
#ifndef EPL_RUNTIME_SERVERS_STORE_ROWINDEX_H
#define EPL_RUNTIME_SERVERS_STORE_ROWINDEX_H

#include "runtime/host/MemoryAllocator.h"

#include <cstdint>
#include <vector>

namespace epl::runtime::servers {

/// Numbers of rows by ids. Entries lie in the order of keys, which are ids whose bits are mixed, each at or
/// closely behind the place that its key has in proportion. No two ids have one key, so a search reads a line
/// or two of the cache and nothing else, and these may be prefetched: of many searches none waits for
/// another.
class RowIndex {
public:
  using Row = uint32_t;
  using Key = uint64_t;
  static constexpr Row kNone = UINT32_MAX;
  /// How many there may be.
  static constexpr size_t kMostRows = size_t(3) << 30;

  /// The key of an id, and the id of a key.
  static Key keyOf(int64_t id) { return folded(folded(folded(uint64_t(id)) * kFirstFactor) * kSecondFactor); }
  static int64_t idOf(Key key);

  size_t size() const { return count; }
  size_t bytes() const { return places.capacity() * sizeof(Place); }

  /// Has what a search reads on its way into the cache.
  void prefetch(Key key) const {
    if (count == 0)
      return;
    const Place *place = places.data() + home(key);
    __builtin_prefetch(place);
    __builtin_prefetch(place + kWindow);
  }
  /// The row with the key; kNone if there is none.
  Row find(Key key) const {
    if (count == 0)
      return kNone;
    const Place *place = from(key);
    return place->key() == key ? place->row : kNone;
  }
  /// Adds a row, whose key is not there.
  void insert(Key key, Row row);
  /// Removes the row with a key, which is there.
  void erase(Key key);
  void clear();

  /// Calls `visit(id, row)` for all.
  template <typename Visit> void forEach(const Visit &visit) const {
    for (const Place &place : places)
      if (place.row != kNone)
        visit(idOf(place.key()), place.row);
  }

private:
  /// What keys are mixed with.
  static constexpr uint64_t kFirstFactor = 0xff51afd7ed558ccd, kSecondFactor = 0xc4ceb9fe1a85ec53;
  /// Mixes the upper bits into the lower ones; done again, it is undone.
  static uint64_t folded(uint64_t bits) { return bits ^ (bits >> 33); }

  struct Place {
    // Of the key: together 8 bytes would leave 4 of each place unused. That of a free place is below none.
    uint32_t high = UINT32_MAX, low = 0;
    Row row = kNone; // kNone: free

    Key key() const { return Key(high) << 32 | low; }
  };
  using Places = std::vector<Place, MemoryAllocator<Place>>;

  size_t home(Key key) const { return size_t(((key >> 32) * capacity) >> 32); }
  /// A search looks at so many places without a branch, as no processor foresees how far from its home a key
  /// is: most are not farther.
  static constexpr size_t kWindow = 5;

  /// The first place that is free, or whose key is not below this one, from its home on.
  const Place *from(Key key) const {
    const Place *place = places.data() + home(key);
    uint32_t high = uint32_t(key >> 32);
    size_t below = 0; // of the first places, as keys ascend
    for (size_t i = 0; i < kWindow; ++i)
      below += place[i].high < high;
    place += below;
    while (place->row != kNone && place->key() < key)
      ++place;
    return place;
  }
  bool put(Key key, Row row);
  void rebuild(size_t homes, size_t tail);
  bool refill(const Places &before);

  Places places;       // `capacity` homes, and a tail of places behind them; the last place is free
  size_t capacity = 0; // at most 2^32
  size_t count = 0;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_ROWINDEX_H
