// The first values of a table's rows.
#ifndef EPL_RUNTIME_SERVERS_STORE_FIRSTROWS_H
#define EPL_RUNTIME_SERVERS_STORE_FIRSTROWS_H

#include "runtime/servers/model/manifest_generated.h"

#include <cstddef>
#include <cstdint>

namespace epl::runtime::servers {

/// What a new row of a table is. It follows from the table's seed, the id and the element, so that any number
/// of servers, in any order, makes the same rows.
///
/// Element i has word i of Philox4x64-10 with key (seed, 0) and the counters (1, id, 0, 0), (2, id, 0, 0),
/// ... of four words each: numpy.random.Philox(key=[seed, 0], counter=[0, id, 0, 0]).random_raw(dim). With u
/// = (word >> 11) / 2^53 it is, in f64 and rounded once (to bf16 by way of f32),
///
///   uniform:  scale (2 u - 1)
///   normal:   scale r cos(2 pi v), and for the element behind it scale r sin(2 pi v), where
///             r = sqrt(-2 log(u + 2^-53)) of the first element's u, and v is the second one's u.
class FirstRows {
public:
  /// Keeps a reference to the table, which is valid.
  explicit FirstRows(const manifest::TableT &table) : table(table) {}

  /// Writes the value of an id's row, aligned for its elements.
  void write(int64_t id, std::byte *value) const;

private:
  template <typename Float> void writeAs(int64_t id, Float *value) const;

  const manifest::TableT &table;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_FIRSTROWS_H
