// Any bytes as a frame between a worker and a server: two bytes of how long its payload is, then its head.

#include "runtime/servers/protocol/Frames.h"

#include <algorithm>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace epl::runtime::servers;
  if (size < 2)
    return 0;
  Decoded decoded =
      decode(std::as_bytes(std::span(data, size).subspan(2)), size_t(data[0]) | size_t(data[1]) << 8);
  if (std::holds_alternative<std::string>(decoded))
    return 0;
  // What is read must come back the same from its own bytes.
  const Message &message = std::get<Message>(decoded);
  std::vector<std::byte> bytes = encode(message);
  Decoded again = decode(bytes, size_t(data[0]) | size_t(data[1]) << 8);
  if (!std::holds_alternative<Message>(again) || encode(std::get<Message>(again)) != bytes)
    std::abort();
  return 0;
}
