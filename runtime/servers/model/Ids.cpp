#include "runtime/servers/model/Ids.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"

#include <algorithm>
#include <numeric>

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

} // namespace

uint64_t IdsByServer::rowsBefore(size_t server) const {
  uint64_t count = 0;
  for (size_t i = 0; i < server; ++i)
    count += ids[i].size();
  return count;
}

void IdSplitter::deal(std::span<const std::span<const int64_t>> lookups, uint32_t servers,
                      std::optional<int64_t> padding, const std::string &table, IdsByServer &result) {
  begins.assign(servers + 1, 0);
  for (std::span<const int64_t> ids : lookups)
    for (int64_t id : ids)
      if (id != padding)
        ++begins[uint64_t(id) % servers + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  dealt.resize(begins.back());
  std::vector<size_t> next(begins.begin(), begins.end() - 1);
  for (size_t lookup = 0; lookup < lookups.size(); ++lookup) {
    uint32_t place = result.lookups[lookup];
    for (int64_t id : lookups[lookup]) {
      if (id == padding)
        result.padding.push_back(place);
      else if (id < 0)
        throw Error("table " + quoted(table) + ": id " + std::to_string(id) + " at position " +
                    std::to_string(place - result.lookups[lookup]) + " of lookup " + std::to_string(lookup) +
                    " is below 0");
      else
        dealt[next[uint64_t(id) % servers]++] = {id, place};
      ++place;
    }
  }
}

void IdSplitter::split(std::span<const std::span<const int64_t>> lookups, uint32_t servers,
                       std::optional<int64_t> padding, const std::string &table, IdsByServer &result) {
  if (servers == 0)
    throw Error("there are 0 servers that have rows, expected at least 1");
  result.lookups = placesOf(lookups, table);
  result.padding.clear();
  deal(lookups, servers, padding, table, result);
  spare.resize(dealt.size());
  result.ids.resize(servers);
  result.places.resize(dealt.size());
  result.first.clear();
  for (uint32_t server = 0; server < servers; ++server) {
    size_t begin = begins[server], count = begins[server + 1] - begin;
    std::span<IdAt> own = std::span(dealt).subspan(begin, count);
    sortByIds(own, std::span(spare).first(count));
    std::vector<int64_t> &ids = result.ids[server];
    ids.clear();
    for (size_t i = 0; i < count; ++i) {
      result.places[begin + i] = own[i].place;
      if (i != 0 && own[i].id == own[i - 1].id)
        continue;
      ids.push_back(own[i].id);
      result.first.push_back(uint32_t(begin + i));
    }
  }
  result.first.push_back(uint32_t(dealt.size()));
}

} // namespace epl::runtime::servers
