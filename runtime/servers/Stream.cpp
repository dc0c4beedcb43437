#include "runtime/servers/Stream.h"

#include "runtime/Error.h"

#include <cstring>

namespace epl::runtime::servers {

Payload::Payload(Pieces pieces) : parts(pieces) {
  for (std::span<const std::byte> piece : parts)
    numBytes += piece.size();
}

void Payload::copyTo(std::span<std::byte> target) const {
  if (target.size() < numBytes)
    throw Error("a payload of " + std::to_string(numBytes) + " bytes for a tensor of " +
                std::to_string(target.size()) + " bytes: expected at least as many");
  for (std::span<const std::byte> piece : parts) {
    if (!piece.empty())
      std::memcpy(target.data(), piece.data(), piece.size());
    target = target.subspan(piece.size());
  }
}

} // namespace epl::runtime::servers
