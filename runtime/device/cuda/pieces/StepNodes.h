// What a step consists of: parts that are enqueued each on one stream, and what each of them comes behind.
//
//   a command on a rank                 lane:  [ whole ]
//   one with which the rank transfers   lane:  [ before ]              [ behind ]
//                                       card:              [ transfer ]
//
// A transfer is all that one command moves on a card by NCCL or through the host, for the ranks that are
// there. Nothing but the order of lanes, the waits of the plan, the messages of its channels and the order of
// a card's transfers is in it, as the verifier has proved that these suffice.
#ifndef EPL_RUNTIME_DEVICE_CUDA_PIECES_STEPNODES_H
#define EPL_RUNTIME_DEVICE_CUDA_PIECES_STEPNODES_H

#include <cstdint>
#include <vector>

namespace epl::runtime {
class Channels;
}

namespace epl::runtime::cuda {

class StepWork;

struct StepNode {
  enum class Kind : uint8_t { whole, before, behind, transfer };
  Kind kind = Kind::whole;
  uint32_t item = 0;           ///< of a transfer the first one of its command
  uint32_t card = 0;           ///< where the stream is
  uint32_t stream = 0;         ///< that of a lane, or of a card
  bool isEmpty = false;        ///< it has no calls
  std::vector<uint32_t> needs; ///< nodes that come before it, among them the one before it on its stream
  /// Of a transfer: those of the command that end together with it, as they are of one group, and itself.
  std::vector<uint32_t> partners;

  bool isTransfer() const { return kind == Kind::transfer; }
};

/// Those of all items, each behind what it needs; transfers of one command follow one another. Streams are
/// numbers: the lanes of each local rank, then the cards. Ranks of other processes are not waited for: what
/// they have is read by transfers.
std::vector<StepNode> findNodes(const StepWork &work, const Channels &channels, uint32_t cards);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_PIECES_STEPNODES_H
