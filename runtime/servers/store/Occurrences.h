// The gradient of a row that a batch has several times.
#ifndef EPL_RUNTIME_SERVERS_STORE_OCCURRENCES_H
#define EPL_RUNTIME_SERVERS_STORE_OCCURRENCES_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/servers/model/Ids.h"

#include <cstddef>

namespace epl::runtime::servers {

/// The gradients of the occurrences of a batch, by row. Keeps a reference to the ids.
class Occurrences {
public:
  /// `lookups`: of each lookup the gradients, a row of `rowBytes` for each id. They must stay as they are.
  Occurrences(const IdsByServer &ids, std::span<const std::byte *const> lookups, uint64_t rowBytes);

  /// Writes the sums for rows from `begin` to before `end`, one behind the other: of each row its
  /// occurrences, added in the order in which they stand. 16-bit floats are added in f32 and rounded once.
  void sum(plan::ElementType type, uint64_t begin, uint64_t end, std::byte *target) const;

private:
  const void *at(uint32_t place) const {
    uint32_t lookup = lookupOf[place / IdsByServer::kLookupAlignment];
    return lookups[lookup] + (place - ids.lookups[lookup]) * rowBytes;
  }

  const IdsByServer &ids;
  const std::vector<const std::byte *> lookups;
  const uint64_t rowBytes;
  std::vector<uint32_t> lookupOf; // of each kLookupAlignment places
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_OCCURRENCES_H
