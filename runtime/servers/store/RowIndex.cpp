// Linear probing of a table in the order of hashes ("ordered hash tables", Amble and Knuth 1974): an entry is
// as far behind its home as the entries before it need room, which for nine places of ten in use is 4.5 on
// average and below a hundred for all.
#include "runtime/servers/store/RowIndex.h"

#include <algorithm>

namespace epl::runtime::servers {
namespace {

constexpr size_t kFirst = 64;             // homes
constexpr size_t kTail = 256;             // places behind the last home
constexpr size_t kMost = size_t(1) << 32; // homes that hashes tell apart
/// The index grows by halves, when it is so full: free places are a part of a row's memory.
constexpr size_t kMostInTen = 9;
static_assert(RowIndex::kMostRows * 10 < kMost * kMostInTen);

} // namespace

void RowIndex::insert(uint32_t hash, Row row) {
  if ((count + 1) * 10 > capacity * kMostInTen)
    rebuild(std::min(std::max(kFirst, capacity + capacity / 2), kMost), kTail);
  while (!put(hash, row))
    rebuild(capacity, 2 * (places.size() - capacity));
  ++count;
}

/// False if there is no room up to the last place, which stays free.
bool RowIndex::put(uint32_t hash, Row row) {
  Place *place = places.data() + (from(hash) - places.data()), *last = &places.back();
  Place *end = std::find_if(place, last, [](const Place &each) { return each.row == kNone; });
  if (end == last)
    return false;
  std::move_backward(place, end, end + 1);
  *place = {hash, row};
  return true;
}

void RowIndex::erase(uint32_t hash, Row row) {
  Place *place = places.data() + (from(hash) - places.data());
  while (place->row != row)
    ++place;
  // Those behind it come one place closer to their homes, up to one that is at home.
  Place *end = place + 1;
  while (end->row != kNone && size_t(end - places.data()) > home(end->hash))
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
    next = std::max(next, home(place.hash));
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
