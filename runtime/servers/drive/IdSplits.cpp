#include "runtime/servers/drive/IdSplits.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime::servers {

void checkTable(const Job &job, uint32_t number) {
  if (number >= job.manifest.tables.size())
    throw Error("there is no table " + std::to_string(number) + ", expected one below " +
                std::to_string(job.manifest.tables.size()));
}

std::shared_ptr<const IdsByServer> IdSplits::of(uint32_t table, Lookups lookups,
                                                std::optional<int64_t> padding) {
  checkTable(*job, table);
  auto isSame = [](const std::vector<int64_t> &known, std::span<const int64_t> ids) {
    return std::ranges::equal(known, ids);
  };
  Last &known = last[table];
  if (known.split && known.padding == padding && std::ranges::equal(known.lookups, lookups, isSame))
    return known.split;
  known.split = std::make_shared<const IdsByServer>(
      splitIds(lookups, job->manifest.servers, padding, job->manifest.tables[table]->name));
  known.padding = padding;
  known.lookups.clear();
  for (std::span<const int64_t> ids : lookups)
    known.lookups.emplace_back(ids.begin(), ids.end());
  return known.split;
}

} // namespace epl::runtime::servers
