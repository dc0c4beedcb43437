#include "runtime/servers/model/Ids.h"

#include "runtime/Error.h"

#include <algorithm>
#include <limits>
#include <string>

namespace epl::runtime::servers {
namespace {

void check(std::span<const int64_t> batch, uint32_t servers) {
  if (servers == 0)
    throw Error("there are 0 servers that have rows, expected at least 1");
  if (batch.size() > std::numeric_limits<uint32_t>::max())
    throw Error("a batch has " + std::to_string(batch.size()) + " ids, expected fewer than 2^32");
  for (size_t i = 0; i < batch.size(); ++i)
    if (batch[i] < 0)
      throw Error("id " + std::to_string(batch[i]) + " at position " + std::to_string(i) +
                  " of the batch is below 0");
}

} // namespace

IdsByServer splitIds(std::span<const int64_t> batch, uint32_t servers) {
  check(batch, servers);
  IdsByServer result;
  result.ids.resize(servers);
  for (int64_t id : batch)
    result.ids[uint64_t(id) % servers].push_back(id);
  std::vector<uint32_t> first; // row of each server
  uint32_t count = 0;
  for (std::vector<int64_t> &ids : result.ids) {
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    first.push_back(count);
    count += uint32_t(ids.size());
  }
  for (int64_t id : batch) {
    uint32_t server = uint32_t(uint64_t(id) % servers);
    const std::vector<int64_t> &ids = result.ids[server];
    result.row.push_back(first[server] + uint32_t(std::ranges::lower_bound(ids, id) - ids.begin()));
  }
  return result;
}

} // namespace epl::runtime::servers
