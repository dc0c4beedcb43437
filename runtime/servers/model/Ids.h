// The ids of a batch: each once, at the server that has its row.

#ifndef EPL_RUNTIME_SERVERS_MODEL_IDS_H
#define EPL_RUNTIME_SERVERS_MODEL_IDS_H

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// The row of an occurrence of the padding id.
inline constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

/// The ids of a batch, each once, at the server that has its row: that of number id mod servers.
struct IdsByServer {
  std::vector<std::vector<int64_t>> ids; ///< of each server, ascending
  /// Of each occurrence, lookup after lookup: which of all ids, those of server 0 first, its row is. So the
  /// answers of servers, one behind the other, are put in order. kNoRow of the padding id.
  std::vector<uint32_t> row;

  /// How many rows there are before those of a server; with the number of servers: how many in all.
  uint64_t rowsBefore(size_t server) const;
};

/// What a step asks for of a table: the ids of each of its lookups. `padding` is no row's id, if there is
/// one; `table` is for messages. Throws Error for another id below 0, for 0 servers, and for 2^32 - 1 ids and
/// more.
IdsByServer splitIds(std::span<const std::span<const int64_t>> lookups, uint32_t servers,
                     std::optional<int64_t> padding, const std::string &table);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_IDS_H
