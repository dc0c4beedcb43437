// The order in which the host enqueues the launches of a step, and which of them wait for which.
//
// A launch of several nodes is on the stream of its first one: others that are there have nodes of that lane,
// too, so that nothing waits but for what it needs. On other streams it waits for events. An event stands for
// its last record when the host calls for the wait: so it is recorded, and launches come, in an order in
// which all comes behind what it needs. No wait is for what another one, or the order of a stream, has said
// already.
//
// Partners in a transfer end when all have come, so that each may wait for what another one needs. Where all
// need much of one another, as transfers that follow transfers do, one waits for all of it, and the others
// for that: with n cards, 2 n waits in place of n * n.
#ifndef EPL_RUNTIME_DEVICE_CUDA_PIECES_LAUNCHORDER_H
#define EPL_RUNTIME_DEVICE_CUDA_PIECES_LAUNCHORDER_H

#include "runtime/device/cuda/pieces/FindPieces.h"

namespace epl::runtime::cuda {

struct Launch {
  std::vector<uint32_t> nodes; ///< in their order
  bool isGraph = false, isTransfer = false;
  uint32_t stream = 0, card = 0;
  std::vector<uint32_t> waits; ///< for launches on other streams, by their places in the order
  bool awaitsBegin = false;    ///< it waits for the begin of the step
  bool isAwaited = false;      ///< others wait for its end
  bool isGate = false;         ///< others wait for all that it waits for
  uint32_t gate = kNowhere;    ///< the launch, a partner before it, of which it waits for that
};

struct LaunchOrder {
  std::vector<Launch> launches; ///< transfers of one command follow one another
  std::vector<uint32_t> ends;   ///< the launches that the step has ended behind
  bool isBeginAwaited = false;
};

/// `origin`: the stream on which the step begins and ends, kNowhere if that has none of the nodes.
LaunchOrder orderLaunches(std::span<const StepNode> nodes, const Launches &launches, uint32_t origin);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_PIECES_LAUNCHORDER_H
