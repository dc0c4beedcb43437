// Two passes by radix sort the ids by the 22 bits below the highest one in which they differ. That leaves few
// together, if ids are far apart, as hashes are, or close to each other, as numbers are; what is left is
// sorted for itself.
#include "runtime/servers/model/Ids.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace epl::runtime::servers {
namespace {

constexpr int kDigit = 11; // bits: as many places to write to as a cache keeps
constexpr size_t kValues = size_t(1) << kDigit;
constexpr size_t kFew = 1024;   // that are compared
constexpr size_t kVeryFew = 32; // that each look for their place

using Counts = std::array<uint32_t, kValues>;

size_t digit(int64_t id, int shift) { return size_t(uint64_t(id) >> shift) % kValues; }

/// `counts`: how many ids have which digit.
void moveByDigit(std::span<const IdAt> from, std::span<IdAt> to, int shift, Counts &counts) {
  uint32_t next = 0;
  for (uint32_t &count : counts)
    next += std::exchange(count, next);
  for (const IdAt &each : from)
    to[counts[digit(each.id, shift)]++] = each;
}

bool isBelow(const IdAt &one, const IdAt &other) {
  return one.id != other.id ? one.id < other.id : one.place < other.place;
}

void insertEach(std::span<IdAt> ids) {
  for (size_t i = 1; i < ids.size(); ++i) {
    IdAt each = ids[i];
    size_t at = i;
    for (; at > 0 && isBelow(each, ids[at - 1]); --at)
      ids[at] = ids[at - 1];
    ids[at] = each;
  }
}

/// The bits in which ids differ.
uint64_t differences(std::span<const IdAt> ids) {
  uint64_t result = 0;
  for (const IdAt &each : ids)
    result |= uint64_t(each.id) ^ uint64_t(ids.front().id);
  return result;
}

} // namespace

void sortByIds(std::span<IdAt> ids, std::span<IdAt> spare) {
  if (ids.size() <= kVeryFew)
    return insertEach(ids);
  if (ids.size() <= kFew)
    return std::sort(ids.begin(), ids.end(), isBelow);
  int shift = std::max(0, int(std::bit_width(differences(ids))) - 2 * kDigit);
  Counts low{}, high{};
  for (const IdAt &each : ids)
    ++low[digit(each.id, shift)], ++high[digit(each.id, shift + kDigit)];
  moveByDigit(ids, spare, shift, low);
  moveByDigit(spare, ids, shift + kDigit, high);
  if (shift == 0)
    return;
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    for (end = begin + 1; end < ids.size() && ids[end].id >> shift == ids[begin].id >> shift;)
      ++end;
    if (end - begin > 1)
      sortByIds(ids.subspan(begin, end - begin), spare.subspan(begin, end - begin));
  }
}

} // namespace epl::runtime::servers
