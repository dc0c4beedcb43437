// The memory through which the parts of a plan send each other tensors.
#ifndef EPL_RUNTIME_COLLECTIVE_INPROC_CHANNELMEMORY_H
#define EPL_RUNTIME_COLLECTIVE_INPROC_CHANNELMEMORY_H

#include "runtime/collective/Collectives.h"

namespace epl::runtime {

/// Of each rank that is here what it sends.
class ChannelMemory {
public:
  /// The channels outlive it.
  ChannelMemory(const Channels &channels, const LocalRanks &ranks, DeviceSet &devices);

  /// Puts what a rank holds into its memory of a channel.
  void send(uint32_t channel, uint32_t rank, const void *source) const;
  /// Fetches what a rank needs, from ranks that have sent it.
  void receive(uint32_t channel, uint32_t rank, void *target) const;

private:
  const Channels &channels;
  std::vector<std::vector<std::unique_ptr<Allocation>>> memory; // of each channel and sending rank
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_INPROC_CHANNELMEMORY_H
