// Pieces of a step: what lies between transfers and can be one graph.
//
// Problem: a transfer is enqueued, as NCCL wants a capture to be alike in all processes, and each of them
// captures when its own addresses change. What lies between transfers would be a call of the driver for each
// kernel, and for each wait. Graphs of it must not make a transfer wait for work that it does not need: that
// of the gradients of the last layer begins while those of the first are computed. Method: the nodes with one
// set of transfers before them and one set of transfers behind them are a piece, whatever they are of.
// Partners in a transfer count as one, which they are: it ends when all have come. Invariant: along an edge
// from P to Q what is before P is before Q, too, and what is behind Q is behind P. So
// - pieces form no cycle: along one, all sets would be the same, and it would be one piece;
// - nor with transfers: one that is behind a piece and before it would be before itself;
// - a piece waits for no transfer that one of its nodes could begin without;
// - a transfer that needs a node needs all of its piece;
// - all paths between nodes of a piece are in it, so that a graph of it has all that orders them.
// Since transfers of a card have an order, the sets are one number for each card: of the last transfer
// before, and of the first one behind.
#ifndef EPL_RUNTIME_DEVICE_CUDA_PIECES_FINDPIECES_H
#define EPL_RUNTIME_DEVICE_CUDA_PIECES_FINDPIECES_H

#include "runtime/device/cuda/pieces/StepNodes.h"

#include <span>

namespace epl::runtime::cuda {

/// What is in no piece, or in no launch.
constexpr uint32_t kNowhere = UINT32_MAX;

/// Of each node the number of its piece, by their first nodes; transfers are in none.
std::vector<uint32_t> findPieces(std::span<const StepNode> nodes);

/// Of each node its launch, by their first nodes: that of its piece, if this is a graph; else one of its own.
/// What has no calls has none. A graph is a piece with more nodes than `most`, as a launch of a graph takes
/// the host as long as those of a few kernels.
struct Launches {
  std::vector<uint32_t> ofNode;
  std::vector<bool> isGraph; ///< of each launch
};
Launches joinPieces(std::span<const StepNode> nodes, std::span<const uint32_t> pieces, uint32_t most);

/// A launch for each node, also for those without calls.
Launches launchEach(std::span<const StepNode> nodes);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_PIECES_FINDPIECES_H
