#include "runtime/servers/model/Ids.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace epl::runtime::servers {
namespace {

uint32_t alignedPlace(uint64_t place) {
  constexpr uint64_t kTo = IdsByServer::kLookupAlignment;
  return uint32_t((place + kTo - 1) / kTo * kTo);
}

/// Where the places of each lookup begin.
std::vector<uint32_t> placesOf(std::span<const std::span<const int64_t>> lookups, const std::string &table) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max() - IdsByServer::kLookupAlignment;
  std::vector<uint32_t> result = {0};
  result.reserve(lookups.size() + 1);
  for (std::span<const int64_t> ids : lookups) {
    uint64_t end = result.back() + ids.size();
    if (end >= kMost)
      throw Error("table " + quoted(table) + ": a batch has " + std::to_string(end) +
                  " ids, expected fewer than " + std::to_string(kMost));
    result.push_back(alignedPlace(end));
  }
  return result;
}

/// Calls `visit(id, place)` for all ids but the padding; `begins`: where the places of each lookup begin.
template <typename Visit>
void forEachId(std::span<const std::span<const int64_t>> lookups, std::span<const uint32_t> begins,
               std::optional<int64_t> padding, const Visit &visit) {
  for (size_t lookup = 0; lookup < lookups.size(); ++lookup) {
    uint32_t place = begins[lookup];
    for (int64_t id : lookups[lookup]) {
      if (id != padding)
        visit(id, place);
      ++place;
    }
  }
}

/// Parts are few enough to be written to all at once, and have not less ids than this on average.
constexpr size_t kMostParts = 1024, kFewIds = 256;

} // namespace

uint64_t IdsByServer::rowsBefore(size_t server) const {
  uint64_t count = 0;
  for (size_t i = 0; i < server; ++i)
    count += ids[i].size();
  return count;
}

/// The ids of each server in parts that ascend, as the first digit of a radix sort tells them apart: the bits
/// below the highest one in which any ids differ.
void IdSplitter::deal(Lookups lookups, uint32_t servers, std::optional<int64_t> padding,
                      const std::string &table, IdsByServer &result) {
  uint64_t any = 0, all = ~uint64_t(0);
  size_t count = 0;
  for (size_t lookup = 0; lookup < lookups.size(); ++lookup)
    for (size_t i = 0; i < lookups[lookup].size(); ++i) {
      int64_t id = lookups[lookup][i];
      if (id == padding) {
        result.padding.push_back(result.lookups[lookup] + uint32_t(i));
        continue;
      }
      if (id < 0)
        throw Error("table " + quoted(table) + ": id " + std::to_string(id) + " at position " +
                    std::to_string(i) + " of lookup " + std::to_string(lookup) + " is below 0");
      any |= uint64_t(id), all &= uint64_t(id), ++count;
    }
  int bits = int(std::bit_width(std::min(kMostParts / servers, count / kFewIds) | 1)) - 1;
  int shift = std::max(0, int(std::bit_width(any ^ all)) - bits);
  uint64_t digit = (uint64_t(1) << bits) - 1;
  auto partOf = [=](int64_t id) {
    return (size_t(uint64_t(id) % servers) << bits) + ((uint64_t(id) >> shift) & digit);
  };
  numParts = size_t(1) << bits;
  ends.assign(servers * numParts, 0);
  forEachId(lookups, result.lookups, padding, [&](int64_t id, uint32_t) { ++ends[partOf(id)]; });
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), uint32_t(0));
  dealt.resize(count);
  forEachId(lookups, result.lookups, padding,
            [&](int64_t id, uint32_t place) { dealt[ends[partOf(id)]++] = {id, place}; });
}

void IdSplitter::split(Lookups lookups, uint32_t servers, std::optional<int64_t> padding,
                       const std::string &table, IdsByServer &result) {
  if (servers == 0)
    throw Error("there are 0 servers that have rows, expected at least 1");
  result.lookups = placesOf(lookups, table);
  result.padding.clear();
  deal(lookups, servers, padding, table, result);
  spare.resize(dealt.size());
  result.ids.resize(servers);
  result.places.resize(dealt.size());
  result.first.resize(dealt.size() + 1);
  size_t begin = 0, row = 0; // of all servers
  for (uint32_t server = 0; server < servers; ++server) {
    std::span<const uint32_t> own = std::span(ends).subspan(server * numParts, numParts);
    std::vector<int64_t> &ids = result.ids[server];
    ids.resize(own.back() - begin);
    size_t rowsBefore = row;
    int64_t last = -1;
    for (uint32_t end : own) {
      std::span<IdAt> part = std::span(dealt).subspan(begin, end - begin);
      sortByIds(part, std::span(spare).first(part.size()));
      // Without branches, as no processor foresees which ids are there again: a row is written until there is
      // another id.
      for (const IdAt &each : part) {
        result.places[begin] = each.place;
        result.first[row] = uint32_t(begin++);
        ids[row - rowsBefore] = each.id;
        row += std::exchange(last, each.id) != each.id;
      }
    }
    ids.resize(row - rowsBefore);
  }
  result.first.resize(row + 1);
  result.first[row] = uint32_t(dealt.size());
}

} // namespace epl::runtime::servers
