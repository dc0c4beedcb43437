// What a worker has asked a server for and not got yet.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_REQUESTS_H
#define EPL_RUNTIME_SERVERS_LOGIC_REQUESTS_H

#include "runtime/servers/protocol/Pieces.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace epl::runtime::servers {

/// The ids whose rows a worker wants of a part of a table, as the caller numbers them.
using IdsHandle = uint64_t;

/// What a worker wants of a part of a table.
struct RowsRequest {
  uint32_t block;
  IdsHandle ids;
  uint64_t count; ///< of the ids; 0: to wait only
  bool create;    ///< ids without a row get one
};

/// The value of a block: of its parameter (state -1) or of a state, with so many steps applied. Of a part of
/// a table: some rows.
struct Request {
  uint32_t block;
  int32_t state;
  uint64_t least;
  uint64_t bytes; ///< that the answer has
  std::optional<RowsRequest> rows = std::nullopt;
  PieceOrder order = {}; ///< of the pieces that have come
};

class Requests {
public:
  /// Adds one; false if the same value has been asked for.
  bool add(const Request &request);
  Request *find(uint32_t block, int32_t state);
  void erase(const Request &request);

  bool empty() const { return list.empty(); }
  const Request &front() const { return list.begin()->second; }
  /// The number that the next one gets.
  uint64_t next() const { return count; }

  /// Pieces begin anew, on another stream.
  void restart();
  /// The frames for all from number `from` on but rows: those of parameters in as few as possible.
  std::vector<Message> frames(uint64_t from) const;
  /// Those for rows, from number `from` on.
  std::vector<Request> rows(uint64_t from) const;

private:
  std::map<uint64_t, Request> list; ///< by number, in the order in which they were made
  std::map<std::pair<uint32_t, int32_t>, uint64_t> numbers; ///< by block and state
  uint64_t count = 0;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_REQUESTS_H
