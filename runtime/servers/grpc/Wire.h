// Frames as messages of gRPC.
//
//   | u32, little endian: bytes of the head | head | payload |        a message without a byte: the stream
//   ends
#ifndef EPL_RUNTIME_SERVERS_GRPC_WIRE_H
#define EPL_RUNTIME_SERVERS_GRPC_WIRE_H

#include "runtime/servers/Stream.h"

#include <grpcpp/support/byte_buffer.h>

namespace epl::runtime::servers {

/// The method whose calls are streams.
inline constexpr const char *kMethod = "/epl.Servers/Frames";
/// Metadata: the token of who connects; and that who listens takes the stream.
inline constexpr const char *kTokenKey = "epl-token-bin";
inline constexpr const char *kAcceptedKey = "epl-accepted";

/// The bytes that a frame has beside its head and payload.
inline constexpr size_t kFramePrefix = 4;

/// A frame's message. Its payload is the frame's own, and the frame's owner goes with it.
grpc::ByteBuffer messageOf(Frame frame);

/// A message that has come, as a frame.
class ReceivedFrame {
public:
  /// Throws Error if it is none, or a larger one than kMaxFrame.
  explicit ReceivedFrame(const grpc::ByteBuffer &message);

  std::span<const std::byte> head() const { return headBytes; }
  Payload payload() const { return Payload(pieces); }

private:
  /// The next bytes, copied and taken off the pieces.
  void take(std::span<std::byte> target);

  std::vector<grpc::Slice> slices; ///< what the pieces lie in
  std::vector<std::span<const std::byte>> pieces;
  std::vector<std::byte> headBytes; ///< a copy, which is small, as the message may be cut anywhere
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_WIRE_H
