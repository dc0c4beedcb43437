#include "runtime/servers/model/Ids.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"

#include <boost/sort/spreadsort/integer_sort.hpp>

namespace epl::runtime::servers {
namespace {

/// An id of the batch, and where it stands.
struct Occurrence {
  int64_t id;
  uint32_t position;
};

void check(std::span<const std::span<const int64_t>> lookups, uint32_t servers, const std::string &table) {
  if (servers == 0)
    throw Error("there are 0 servers that have rows, expected at least 1");
  uint64_t count = 0;
  for (std::span<const int64_t> ids : lookups)
    count += ids.size();
  if (count >= kNoRow)
    throw Error("table " + quoted(table) + ": a batch has " + std::to_string(count) +
                " ids, expected fewer than " + std::to_string(kNoRow));
}

/// Those of each server, in any order.
std::vector<std::vector<Occurrence>> deal(std::span<const std::span<const int64_t>> lookups, uint32_t servers,
                                          std::optional<int64_t> padding, const std::string &table) {
  std::vector<std::vector<Occurrence>> result(servers);
  std::vector<size_t> counts(servers);
  for (std::span<const int64_t> ids : lookups)
    for (int64_t id : ids)
      ++counts[uint64_t(id) % servers];
  for (uint32_t server = 0; server < servers; ++server)
    result[server].reserve(counts[server]);
  uint32_t position = 0;
  for (size_t lookup = 0; lookup < lookups.size(); ++lookup)
    for (size_t i = 0; i < lookups[lookup].size(); ++i, ++position) {
      int64_t id = lookups[lookup][i];
      if (id == padding)
        continue;
      if (id < 0)
        throw Error("table " + quoted(table) + ": id " + std::to_string(id) + " at position " +
                    std::to_string(i) + " of lookup " + std::to_string(lookup) + " is below 0");
      result[uint64_t(id) % servers].push_back({id, position});
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

IdsByServer splitIds(std::span<const std::span<const int64_t>> lookups, uint32_t servers,
                     std::optional<int64_t> padding, const std::string &table) {
  check(lookups, servers, table);
  IdsByServer result;
  for (std::span<const int64_t> ids : lookups)
    result.row.resize(result.row.size() + ids.size(), kNoRow);
  uint32_t row = 0;
  for (std::vector<Occurrence> &own : deal(lookups, servers, padding, table)) {
    // By radix: comparing takes three times as long for a batch of a million.
    boost::sort::spreadsort::integer_sort(
        own.begin(), own.end(), [](const Occurrence &one, int shift) { return one.id >> shift; },
        [](const Occurrence &one, const Occurrence &other) { return one.id < other.id; });
    std::vector<int64_t> &ids = result.ids.emplace_back();
    for (const Occurrence &one : own) {
      if (ids.empty() || ids.back() != one.id) {
        ids.push_back(one.id);
        ++row;
      }
      result.row[one.position] = row - 1;
    }
  }
  return result;
}

} // namespace epl::runtime::servers
