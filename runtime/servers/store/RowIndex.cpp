// Linear probing of a table in the order of keys ("ordered hash tables", Amble and Knuth 1974): an entry is
// as far behind its home as the entries before it need room, which for nine places of ten in use is 4.5 on
// average and below a hundred for all. Keys are ids as MurmurHash3 mixes 64 bits at its end, every step of
// which can be undone.
#include "runtime/servers/store/RowIndex.h"

#include <algorithm>

namespace epl::runtime::servers {
namespace {

constexpr size_t kFirst = 64;             // homes
constexpr size_t kTail = 256;             // places behind the last home
constexpr size_t kMost = size_t(1) << 32; // homes that upper halves of keys tell apart
/// The index grows by halves, when it is so full: free places are a part of a row's memory.
constexpr size_t kMostInTen = 9;
static_assert(RowIndex::kMostRows * 10 < kMost * kMostInTen);

} // namespace

int64_t RowIndex::idOf(Key key) {
  // Inverses modulo 2^64.
  constexpr uint64_t kFirstInverse = 0x4f74430c22a54005, kSecondInverse = 0x9cb4b2f8129337db;
  static_assert(kFirstFactor * kFirstInverse == 1 && kSecondFactor * kSecondInverse == 1);
  return int64_t(folded(folded(folded(key) * kSecondInverse) * kFirstInverse));
}

void RowIndex::insert(Key key, Row row) {
  if ((count + 1) * 10 > capacity * kMostInTen)
    rebuild(std::min(std::max(kFirst, capacity + capacity / 2), kMost), kTail);
  while (!put(key, row))
    rebuild(capacity, 2 * (places.size() - capacity));
  ++count;
}

/// False if there is no room up to the last place, which stays free.
bool RowIndex::put(Key key, Row row) {
  Place *place = places.data() + (from(key) - places.data()), *last = &places.back();
  Place *end = std::find_if(place, last, [](const Place &each) { return each.row == kNone; });
  if (end == last)
    return false;
  std::move_backward(place, end, end + 1);
  *place = {uint32_t(key >> 32), uint32_t(key), row};
  return true;
}

void RowIndex::erase(Key key) {
  Place *place = places.data() + (from(key) - places.data());
  // Those behind it come one place closer to their homes, up to one that is at home.
  Place *end = place + 1;
  while (end->row != kNone && size_t(end - places.data()) > home(end->key()))
    ++end;
  std::move(place + 1, end, place);
  end[-1] = {};
  --count;
}

void RowIndex::rebuild(size_t homes, size_t tail) {
  Places before = std::move(places);
  capacity = homes;
  do {
    places.assign(capacity + tail, {});
    tail *= 2;
  } while (!refill(before));
}

/// All entries keep their order, so one pass over both tables moves them. False if the tail has not the room.
bool RowIndex::refill(const Places &before) {
  size_t next = 0;
  for (const Place &place : before) {
    if (place.row == kNone)
      continue;
    next = std::max(next, home(place.key()));
    if (next + 1 == places.size())
      return false;
    places[next++] = place;
  }
  return true;
}

void RowIndex::clear() {
  places = Places();
  capacity = count = 0;
}

} // namespace epl::runtime::servers
