// Which server has which rows of a table, and the ids of a batch by server.

#ifndef EPL_RUNTIME_SERVERS_MODEL_IDS_H
#define EPL_RUNTIME_SERVERS_MODEL_IDS_H

#include <cstdint>
#include <span>
#include <vector>

namespace epl::runtime::servers {

/// The ids of a batch, each once, at the server that has its row: that of number id mod servers.
struct IdsByServer {
  std::vector<std::vector<int64_t>> ids; ///< of each server, ascending
  /// Of each position of the batch: which of all ids, those of server 0 first, its row is. So the answers of
  /// servers, one behind the other, are put in order.
  std::vector<uint32_t> row;
};

/// Throws Error for an id below 0, for 0 servers, and for 2^32 ids and more.
IdsByServer splitIds(std::span<const int64_t> batch, uint32_t servers);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_IDS_H
