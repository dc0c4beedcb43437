#include "runtime/plan/build/Gaps.h"

#include <cassert>
#include <iterator>

namespace epl::runtime {

uint64_t Gaps::find(uint64_t size) const {
  auto gap = gaps.lower_bound({size, 0});
  return gap == gaps.end() ? places.rbegin()->first : gap->second;
}

/// Makes a place of `at`.
Gaps::Places::iterator Gaps::split(uint64_t at) {
  auto next = places.lower_bound(at);
  if (next != places.end() && next->first == at)
    return next;
  return places.emplace_hint(next, at, std::prev(next)->second);
}

void Gaps::change(uint64_t begin, uint64_t end, int64_t by) {
  if (begin == end)
    return;
  // The places round those that change, where gaps may begin or end.
  auto first = std::prev(places.upper_bound(begin));
  first = first == places.begin() ? first : std::prev(first);
  auto last = places.lower_bound(end);
  last = last == places.end() ? last : std::next(last);
  dropGaps(first, last);
  auto stop = split(end);
  for (auto place = split(begin); place != stop; ++place) {
    place->second += by;
    assert(place->second >= 0 && "a block is taken away where it is");
  }
  for (auto place = std::next(first); place != last;)
    place = place->second == std::prev(place)->second ? places.erase(place) : std::next(place);
  addGaps(first, last);
}

void Gaps::dropGaps(Places::iterator first, Places::iterator last) {
  for (auto place = first; place != last; ++place)
    if (auto next = std::next(place); place->second == 0 && next != places.end())
      gaps.erase({next->first - place->first, place->first});
}

void Gaps::addGaps(Places::iterator first, Places::iterator last) {
  for (auto place = first; place != last; ++place)
    if (auto next = std::next(place); place->second == 0 && next != places.end())
      gaps.emplace(next->first - place->first, place->first);
}

} // namespace epl::runtime
