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

  /// Puts what a rank holds into its memory of a channel, as a message of that.
  void send(uint32_t channel, uint32_t message, uint32_t rank, const void *source) const;
  /// Fetches what a rank needs of a message, from ranks that have sent it; those elsewhere have it in buffer
  /// 0 of what was fetched.
  void receive(uint32_t channel, uint32_t message, uint32_t rank, void *target,
               const FetchedBuffers *fetched) const;

private:
  /// Where a message is in the memory of a channel.
  size_t offsetOf(uint32_t channel, uint32_t message) const {
    return message % channels.depth(channel) * channels.sentBytes(channel);
  }

  const Channels &channels;
  std::vector<std::vector<std::unique_ptr<Allocation>>> memory; // of each channel and sending rank
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_INPROC_CHANNELMEMORY_H
