// The memory that messages between processes come to and leave from.
#ifndef EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_TRANSFERMEMORY_H
#define EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_TRANSFERMEMORY_H

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/device/cuda/collectives/HostRoom.h"

namespace epl::runtime::cuda {

/// A rank of those that are here, and one of its lanes, or what it sends by channels.
using LaneOfRank = std::pair<uint32_t, uint32_t>;

/// Staging memory of each lane, for the transfers of its commands in turn; and of those that go through the
/// host, memory there. The arguments outlive it.
class TransferMemory {
public:
  TransferMemory(std::shared_ptr<const Cards> cards, Transport *transport)
      : cards(std::move(cards)), transport(transport) {}

  /// A transfer of a lane, on a card.
  void add(LaneOfRank lane, uint32_t card, const Transfer &transfer);
  /// Takes the memory, for all that was added. Throws Error if there is none left.
  void take(Copies &copies);

  /// Where the messages of a lane are on its card; 0 if it has none.
  CUdeviceptr staging(LaneOfRank lane) const;
  HostRoom &room(const Transfer &transfer) const { return *rooms.at(&transfer); }

  // What goes through the host: before a step; while it is waited for; when it is given up.

  void clear();
  void progress();
  void cancel() noexcept;

private:
  struct Lane {
    uint32_t card;
    uint64_t bytes = 0;
    std::unique_ptr<CudaAllocation> memory;
    std::vector<const Transfer *> throughHost;
  };
  std::shared_ptr<const Cards> cards;
  Transport *transport;
  std::map<LaneOfRank, Lane> lanes;
  std::map<const Transfer *, std::unique_ptr<HostRoom>> rooms;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_TRANSFERMEMORY_H
