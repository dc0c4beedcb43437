// Tensors sent in frames.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_SENDPIECES_H
#define EPL_RUNTIME_SERVERS_DRIVE_SENDPIECES_H

#include "runtime/servers/Stream.h"
#include "runtime/servers/drive/Streams.h"
#include "runtime/servers/logic/GatherActions.h"
#include "runtime/servers/protocol/Pieces.h"

namespace epl::runtime::servers {

/// Queues bytes in as many frames as they need, of no bytes one. `message` says what they are, and is given
/// the offset and the total of each piece; `owner` keeps the bytes as they are until they have left.
template <typename MessageT>
void sendPieces(Stream &stream, MessageT message, std::span<const std::byte> bytes,
                const std::shared_ptr<const void> &owner) {
  for (const Piece &piece : cutPieces(bytes.size())) {
    message.offset = piece.offset;
    message.total = bytes.size();
    stream.send({encode(Message(message)), bytes.subspan(piece.offset, piece.size), owner});
  }
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
