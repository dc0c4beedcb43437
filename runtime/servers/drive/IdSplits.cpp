#include "runtime/servers/drive/IdSplits.h"

#include "runtime/Error.h"

#include <algorithm>
#include <utility>

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
  std::shared_ptr<IdsByServer> split = std::exchange(known.split, nullptr);
  if (!split || split.use_count() != 1)
    split = std::make_shared<IdsByServer>();
  splitter.split(lookups, job->manifest.servers, padding, job->manifest.tables[table]->name, *split);
  known.padding = padding;
  known.lookups.resize(lookups.size());
  for (size_t i = 0; i < lookups.size(); ++i)
    known.lookups[i].assign(lookups[i].begin(), lookups[i].end());
  known.split = split;
  return split;
}

} // namespace epl::runtime::servers
