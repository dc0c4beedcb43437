#include "runtime/servers/grpc/Wire.h"

#include "runtime/Error.h"

#include <bit>
#include <cstring>

namespace epl::runtime::servers {

static_assert(std::endian::native == std::endian::little);

static grpc::Slice sliceOfHead(const std::vector<std::byte> &head) {
  grpc::Slice slice(kFramePrefix + head.size());
  auto *bytes = const_cast<uint8_t *>(slice.begin()); // nobody else has it yet
  auto size = static_cast<uint32_t>(head.size());
  std::memcpy(bytes, &size, kFramePrefix);
  if (!head.empty())
    std::memcpy(bytes + kFramePrefix, head.data(), head.size());
  return slice;
}

grpc::ByteBuffer messageOf(Frame frame) {
  grpc::Slice head = sliceOfHead(frame.head);
  if (frame.payload.empty())
    return grpc::ByteBuffer(&head, 1);
  using Owner = std::shared_ptr<const void>;
  auto release = [](void *owner) { delete static_cast<Owner *>(owner); };
  grpc::Slice slices[] = {head,
                          grpc::Slice(const_cast<std::byte *>(frame.payload.data()), frame.payload.size(),
                                      release, new Owner(std::move(frame.owner)))};
  return grpc::ByteBuffer(slices, 2);
}

ReceivedFrame::ReceivedFrame(const grpc::ByteBuffer &message) {
  size_t size = message.Length();
  if (size < kFramePrefix)
    throw Error("a frame of " + std::to_string(size) + " bytes, expected at least " +
                std::to_string(kFramePrefix));
  if (size - kFramePrefix > kMaxFrame)
    throw Error("a frame of " + std::to_string(size - kFramePrefix) + " bytes, expected at most " +
                std::to_string(kMaxFrame));
  if (!message.Dump(&slices).ok())
    throw Error("a frame that is compressed in a way that is unknown");
  for (const grpc::Slice &slice : slices)
    pieces.push_back(std::as_bytes(std::span(slice.begin(), slice.size())));
  uint32_t headSize = 0;
  take(std::as_writable_bytes(std::span(&headSize, 1)));
  if (headSize > size - kFramePrefix)
    throw Error("a frame of " + std::to_string(size - kFramePrefix) + " bytes that has a head of " +
                std::to_string(headSize));
  headBytes.resize(headSize);
  take(headBytes);
}

void ReceivedFrame::take(std::span<std::byte> target) {
  size_t numEmpty = 0;
  for (std::span<const std::byte> &piece : pieces) {
    size_t part = std::min(piece.size(), target.size());
    if (part > 0)
      std::memcpy(target.data(), piece.data(), part);
    piece = piece.subspan(part);
    target = target.subspan(part);
    if (!piece.empty())
      break;
    ++numEmpty;
  }
  pieces.erase(pieces.begin(), pieces.begin() + static_cast<ptrdiff_t>(numEmpty));
}

} // namespace epl::runtime::servers
