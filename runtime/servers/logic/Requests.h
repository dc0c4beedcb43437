// What a worker has asked a server for and not got yet.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_REQUESTS_H
#define EPL_RUNTIME_SERVERS_LOGIC_REQUESTS_H

#include "runtime/servers/protocol/Pieces.h"

#include <cstdint>
#include <vector>

namespace epl::runtime::servers {

/// The value of a block: of its parameter (state -1) or of a state, with so many steps applied.
struct Request {
  uint32_t block;
  int32_t state;
  uint64_t least;
  PieceOrder order = {}; ///< of the pieces that have come
};

class Requests {
public:
  /// Adds one; false if the same value has been asked for.
  bool add(const Request &request);
  Request *find(uint32_t block, int32_t state);
  void erase(const Request &request);

  bool empty() const { return list.empty(); }
  size_t size() const { return list.size(); }
  const Request &front() const { return list.front(); }

  /// Pieces begin anew, on another stream.
  void restart();
  /// The frames for all from number `from` on: those of parameters in as few as possible.
  std::vector<Message> frames(size_t from) const;

private:
  std::vector<Request> list; ///< in the order in which they were made
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_REQUESTS_H
