// The ids of a batch: each once, at the server that has its row.

#ifndef EPL_RUNTIME_SERVERS_MODEL_IDS_H
#define EPL_RUNTIME_SERVERS_MODEL_IDS_H

#include "runtime/host/MemoryAllocator.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// An id of a batch, and where in it this stands.
struct IdAt {
  int64_t id;
  uint32_t place;
};

/// Sorts by id, and those of one id by place. Places ascend, ids are not below 0; `spare` has as many
/// elements.
void sortByIds(std::span<IdAt> ids, std::span<IdAt> spare);

/// The ids of a batch, each once, at the server that has its row: that of number id mod servers.
struct IdsByServer {
  /// The places of a lookup begin at a multiple of it. So rows that lie by their places are aligned in each
  /// lookup, and it takes no search to tell of which one a place is.
  static constexpr uint32_t kLookupAlignment = 64;

  std::vector<std::vector<int64_t>> ids; ///< of each server, ascending
  /// Rows are numbered as `ids` has them, those of server 0 first: so the answers of servers lie, one behind
  /// the other. The places in the batch of row 0, ascending, then those of row 1, ...
  std::vector<uint32_t> places;
  std::vector<uint32_t> first;   ///< of each row in `places`, and behind them how many these are
  std::vector<uint32_t> padding; ///< the places that have no row
  std::vector<uint32_t>
      lookups; ///< where the places of each lookup begin, and behind them where the last ends

  /// How many rows there are before those of a server; with the number of servers: how many in all.
  uint64_t rowsBefore(size_t server) const;
};

/// Deals the ids of batches out to servers. The memory that it needs for that is used again. For one thread
/// at a time.
class IdSplitter {
public:
  using Lookups = std::span<const std::span<const int64_t>>;

  /// What a step asks for of a table: the ids of each of its lookups. `padding` is no row's id, if there is
  /// one; `table` is for messages. Throws Error for another id below 0, for 0 servers, and for about 2^32 ids
  /// and more.
  void split(Lookups lookups, uint32_t servers, std::optional<int64_t> padding, const std::string &table,
             IdsByServer &result);

private:
  void deal(Lookups lookups, uint32_t servers, std::optional<int64_t> padding, const std::string &table,
            IdsByServer &result);

  using LargeVector = std::vector<IdAt, MemoryAllocator<IdAt>>; // written to at thousands of places at once

  LargeVector dealt, spare;   // those of server 0, then those of server 1, ...
  size_t numParts = 0;        // of each server's ids, which ascend
  std::vector<uint32_t> ends; // of each part in `dealt`
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_IDS_H
