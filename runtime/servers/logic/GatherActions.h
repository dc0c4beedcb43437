// What the two sides of an all-gather want to be done.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_GATHERACTIONS_H
#define EPL_RUNTIME_SERVERS_LOGIC_GATHERACTIONS_H

#include "runtime/servers/protocol/Frames.h"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace epl::runtime::servers {

/// What a worker gives to an all-gather.
using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

/// Streams have the numbers that their driver, or the logic of a worker, gives them.
namespace gather_actions {

/// Opens a stream. What is sent meanwhile waits.
struct OpenStream {
  uint64_t stream;
};
/// Closes a stream: at once, or when what was sent has gone.
struct CloseStream {
  uint64_t stream;
  bool atOnce;
};
struct SendFrame {
  uint64_t stream;
  std::vector<std::byte> head;
};
/// Sends bytes in pieces, under a head that is given their offsets.
struct SendBytes {
  uint64_t stream;
  std::variant<frames::ShareT, frames::SharedT> head;
  SharedBytes bytes;
};

} // namespace gather_actions

using GatherAction = std::variant<gather_actions::OpenStream, gather_actions::CloseStream,
                                  gather_actions::SendFrame, gather_actions::SendBytes>;

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_GATHERACTIONS_H
