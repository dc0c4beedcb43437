// The bytes of a frame that has come.
#ifndef EPL_RUNTIME_SERVERS_PAYLOAD_H
#define EPL_RUNTIME_SERVERS_PAYLOAD_H

#include "runtime/Error.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace epl::runtime::servers {

/// The payload of a frame that has come: in pieces of any length and alignment, as the network gave them, so
/// that who needs them in one place copies them once. The bytes are the caller's, as are the pieces.
class Payload {
public:
  using Pieces = std::span<const std::span<const std::byte>>;

  explicit Payload(Pieces pieces) : parts(pieces) {
    for (std::span<const std::byte> piece : parts)
      numBytes += piece.size();
  }
  Payload(std::span<const std::byte> only = {}) : one(only), numBytes(only.size()) {}

  size_t size() const { return numBytes; }
  /// Valid as long as this is.
  Pieces pieces() const { return parts.empty() ? Pieces(&one, 1) : parts; }
  /// Copies all bytes to the front of `target`. Throws Error if that has not as many.
  void copyTo(std::span<std::byte> target) const {
    if (target.size() < numBytes)
      throw Error("a payload of " + std::to_string(numBytes) + " bytes for a tensor of " +
                  std::to_string(target.size()) + " bytes: expected at least as many");
    for (std::span<const std::byte> piece : pieces()) {
      if (!piece.empty())
        std::memcpy(target.data(), piece.data(), piece.size());
      target = target.subspan(piece.size());
    }
  }

private:
  Pieces parts; // or, if there are none, one
  std::span<const std::byte> one;
  size_t numBytes = 0;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_PAYLOAD_H
