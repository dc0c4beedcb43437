// Radix sort from the highest digit on, each part of ids for itself: parts of a large batch are in a cache. A
// digit begins with the highest bit in which the ids of a part differ and has about as many values as there
// are ids. So few are left together, if ids are far apart, as hashes are, or close to each other, as numbers
// are.
#include "runtime/servers/model/Ids.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace epl::runtime::servers {
namespace {

constexpr int kMostBits = 11;   // of a digit: as many places to write to as a cache keeps
constexpr size_t kVeryFew = 24; // ids that each look for their place

void insertEach(std::span<IdAt> ids) {
  for (size_t i = 1; i < ids.size(); ++i) {
    IdAt each = ids[i];
    size_t at = i;
    for (; at > 0 && each.id < ids[at - 1].id; --at)
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

/// Sorts `ids` into `other` or, if `inPlace`, into themselves. There are some.
void sortPart(std::span<IdAt> ids, std::span<IdAt> other, bool inPlace) {
  int bits = std::min(int(std::bit_width(ids.size())), kMostBits);
  int shift = std::max(0, int(std::bit_width(differences(ids))) - bits);
  uint64_t mask = (uint64_t(1) << bits) - 1;
  auto digit = [=](const IdAt &each) { return (uint64_t(each.id) >> shift) & mask; };
  std::array<uint32_t, size_t(1) << kMostBits> ends; // of each digit's part
  std::fill_n(ends.begin(), mask + 1, 0);
  for (const IdAt &each : ids)
    ++ends[digit(each)];
  uint32_t most = *std::max_element(ends.begin(), ends.begin() + int64_t(mask) + 1);
  std::exclusive_scan(ends.begin(), ends.begin() + int64_t(mask) + 1, ends.begin(), uint32_t(0));
  for (const IdAt &each : ids)
    other[ends[digit(each)]++] = each;
  if (shift != 0 && most > kVeryFew) {
    for (size_t value = 0, begin = 0; value <= mask; begin = ends[value++])
      if (size_t size = ends[value] - begin; size != 0)
        sortPart(other.subspan(begin, size), ids.subspan(begin, size), !inPlace);
    return;
  }
  if (shift != 0)
    insertEach(other);
  if (inPlace)
    std::ranges::copy(other, ids.begin());
}

} // namespace

void sortByIds(std::span<IdAt> ids, std::span<IdAt> spare) {
  if (!ids.empty())
    sortPart(ids, spare, /*inPlace=*/true);
}

} // namespace epl::runtime::servers
