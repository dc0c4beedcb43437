// Messages of gRPC, for tests: such as are frames, and such as are not.
#ifndef EPL_TEST_UNIT_SERVERS_GRPC_MESSAGES_H
#define EPL_TEST_UNIT_SERVERS_GRPC_MESSAGES_H

#include "Ends.h"

#include "runtime/servers/grpc/Wire.h"

#include <cstring>
#include <stdexcept>

namespace epl::runtime::servers {

/// A message of bytes, in slices of at most so many.
inline grpc::ByteBuffer cut(const Bytes &bytes, size_t most) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += most)
    slices.emplace_back(bytes.data() + at, std::min(most, bytes.size() - at));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

/// The bytes of a message.
inline Bytes wholeOf(const grpc::ByteBuffer &message) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok())
    throw std::runtime_error("a message that cannot be read");
  Bytes bytes;
  for (const grpc::Slice &slice : slices) {
    auto part = std::as_bytes(std::span(slice.begin(), slice.size()));
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

/// A frame of so many bytes that says that its head has some of them.
inline Bytes rawFrame(uint32_t head, size_t size) {
  Bytes bytes(sizeof(head) + size);
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes;
}

struct Malformed {
  Bytes message;
  std::string why;
};

inline std::vector<Malformed> malformed() {
  return {{Bytes(1), "a frame of 1 bytes, expected at least 4"},
          {Bytes(3), "a frame of 3 bytes, expected at least 4"},
          {rawFrame(11, 10), "a frame of 10 bytes that has a head of 11"},
          {rawFrame(UINT32_MAX, 10), "a frame of 10 bytes that has a head of 4294967295"},
          {rawFrame(4, kMaxFrame + 1), "a frame of 1048577 bytes, expected at most 1048576"}};
}

} // namespace epl::runtime::servers

#endif // EPL_TEST_UNIT_SERVERS_GRPC_MESSAGES_H
