#include "runtime/servers/protocol/Pieces.h"

#include <algorithm>

namespace epl::runtime::servers {

std::vector<Piece> cutPieces(uint64_t total, uint64_t limit) {
  std::vector<Piece> pieces;
  for (uint64_t offset = 0; offset < total || pieces.empty(); offset += limit)
    pieces.push_back({offset, std::min(limit, total - offset)});
  return pieces;
}

std::string PieceOrder::accept(Piece piece, uint64_t total, uint64_t expected) {
  if (total != expected)
    return "has " + std::to_string(total) + " bytes, expected " + std::to_string(expected);
  if (piece.offset == 0)
    next = 0, last = false;
  if (piece.offset != next || last)
    return "goes on at byte " + std::to_string(piece.offset) + ", expected byte " + std::to_string(next);
  next += piece.size;
  last = next == total;
  return "";
}

} // namespace epl::runtime::servers
