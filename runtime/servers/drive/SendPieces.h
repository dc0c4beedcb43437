// Tensors sent in frames.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_SENDPIECES_H
#define EPL_RUNTIME_SERVERS_DRIVE_SENDPIECES_H

#include "runtime/servers/Stream.h"
#include "runtime/servers/drive/Streams.h"
#include "runtime/servers/logic/GatherActions.h"
#include "runtime/servers/protocol/Pieces.h"

namespace epl::runtime::servers {

/// Bytes that are sent in as many frames as they need, of no bytes one, as they are made. `message` says what
/// they are, and is given the offset and the total of each piece; `owner` keeps the bytes as they are until
/// they have left.
template <typename MessageT> class PieceSender {
public:
  PieceSender(MessageT message, std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : message(std::move(message)), bytes(bytes), owner(std::move(owner)), pieces(cutPieces(bytes.size())) {}

  /// Queues the pieces that are whole in the first `ready` bytes, but for those that were sent before.
  void send(Stream &stream, uint64_t ready) {
    for (; next < pieces.size() && pieces[next].offset + pieces[next].size <= ready; ++next) {
      message.offset = pieces[next].offset;
      message.total = bytes.size();
      stream.send({encode(Message(message)), bytes.subspan(message.offset, pieces[next].size), owner});
    }
  }

private:
  MessageT message;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::vector<Piece> pieces;
  size_t next = 0;
};

/// Queues all bytes at once.
template <typename MessageT>
void sendPieces(Stream &stream, MessageT message, std::span<const std::byte> bytes,
                const std::shared_ptr<const void> &owner) {
  PieceSender(std::move(message), bytes, owner).send(stream, bytes.size());
}

/// Queues what is given to an all-gather, if its stream is open.
inline void sendBytes(Streams &streams, const gather_actions::SendBytes &action) {
  std::shared_ptr<Stream> stream = streams.find(action.stream);
  if (!stream)
    return;
  std::visit([&](const auto &head) { sendPieces(*stream, head, *action.bytes, action.bytes); }, action.head);
}

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_SENDPIECES_H
