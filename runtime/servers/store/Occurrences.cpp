#include "runtime/servers/store/Occurrences.h"

#include "runtime/plan/model/Mesh.h"
#include "runtime/servers/store/Average.h"

#include <cstring>
#include <numeric>

namespace epl::runtime::servers {

Occurrences::Occurrences(const IdsByServer &ids, std::span<const std::byte *const> lookups,
                         std::span<const uint64_t> counts, uint64_t rowBytes)
    : rowBytes(rowBytes), first(ids.rowsBefore(ids.ids.size()) + 1) {
  for (uint32_t row : ids.row)
    if (row != kNoRow)
      ++first[row + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  sources.resize(first.back());
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  auto row = ids.row.begin();
  for (size_t lookup = 0; lookup < lookups.size(); ++lookup)
    for (uint64_t i = 0; i < counts[lookup]; ++i, ++row)
      if (*row != kNoRow)
        sources[next[*row]++] = lookups[lookup] + i * rowBytes;
}

void Occurrences::sum(plan::ElementType type, uint64_t begin, uint64_t end, std::byte *target) const {
  ScaledSum sum(type);
  std::span<const void *const> all = sources;
  for (uint64_t row = begin; row < end; ++row, target += rowBytes) {
    std::span<const void *const> own = all.subspan(first[row], first[row + 1] - first[row]);
    if (own.size() == 1)
      std::memcpy(target, own.front(), rowBytes);
    else
      sum(own, 1, target, rowBytes / elementBytes(type));
  }
}

} // namespace epl::runtime::servers
