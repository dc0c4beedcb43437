#include "runtime/servers/store/Occurrences.h"

#include "runtime/plan/model/Mesh.h"
#include "runtime/servers/model/CopyRow.h"
#include "runtime/servers/store/Average.h"

#include <algorithm>

namespace epl::runtime::servers {

Occurrences::Occurrences(const IdsByServer &ids, std::span<const std::byte *const> lookups, uint64_t rowBytes)
    : ids(ids), lookups(lookups.begin(), lookups.end()), rowBytes(rowBytes) {
  for (size_t lookup = 0; lookup < lookups.size(); ++lookup)
    lookupOf.resize(ids.lookups[lookup + 1] / IdsByServer::kLookupAlignment, uint32_t(lookup));
}

void Occurrences::sum(plan::ElementType type, uint64_t begin, uint64_t end, std::byte *target) const {
  constexpr size_t kAhead = 16; // places, which are anywhere in the batch
  ScaledSum sum(type);
  std::vector<const void *> own;
  for (uint64_t row = begin; row < end; ++row, target += rowBytes) {
    size_t next = ids.first[row], last = ids.first[row + 1];
    for (size_t ahead = next + kAhead; ahead < std::min(last + kAhead, ids.places.size()); ++ahead)
      __builtin_prefetch(at(ids.places[ahead]));
    if (last - next == 1) {
      copyRow(target, at(ids.places[next]), rowBytes);
      continue;
    }
    own.clear();
    for (; next < last; ++next)
      own.push_back(at(ids.places[next]));
    sum(own, 1, target, rowBytes / elementBytes(type));
  }
}

} // namespace epl::runtime::servers
