// Tensors in pieces that fit into frames.

#ifndef EPL_RUNTIME_SERVERS_PROTOCOL_PIECES_H
#define EPL_RUNTIME_SERVERS_PROTOCOL_PIECES_H

#include "runtime/servers/protocol/Frames.h"

#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// Bytes of payload that fit into a frame beside the head of a piece.
inline constexpr size_t maxPayloadBytes = kMaxFrame - 256;

/// Bytes of a tensor that are one frame's payload.
struct Piece {
  uint64_t offset, size;

  bool operator==(const Piece &) const = default;
};

/// A tensor of so many bytes in pieces of at most `limit`; of no bytes: one piece of none, as it has to be
/// said, too.
std::vector<Piece> cutPieces(uint64_t total, uint64_t limit = maxPayloadBytes);

/// Pieces as they come: each begins where the last one ended, or the first one comes again.
class PieceOrder {
public:
  /// What is wrong with a piece of a tensor that should have `expected` bytes, as a part of a sentence; empty
  /// if it is the next one, or the first.
  std::string accept(Piece piece, uint64_t total, uint64_t expected);

  /// Whether the last piece has come.
  bool complete() const { return last; }

private:
  uint64_t next = 0;
  bool last = false;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_PROTOCOL_PIECES_H
