// What the parts of a plan send each other, in tables.

#ifndef EPL_RUNTIME_PLAN_MODEL_CHANNELS_H
#define EPL_RUNTIME_PLAN_MODEL_CHANNELS_H

#include "runtime/plan/model/Blocks.h"
#include "runtime/plan/model/Parts.h"

namespace epl::runtime {

/// Who fetches what from whom. A rank that sends a message writes memory of its own, which ranks that receive
/// wait for. It has room for the channel's depth of messages: a rank that sends the next one waits for those
/// who fetch the message in whose place it comes. A step begins after the one before it has ended. So nobody
/// writes what another one reads.
class Channels {
public:
  /// `plan` has passed the verifier.
  explicit Channels(const plan::PlanT &plan);

  uint32_t size() const { return uint32_t(channels.size()); }
  /// The parts whose ranks fill a channel, and fetch from it.
  uint32_t sender(uint32_t channel) const { return channels[channel].messages.front().send.part; }
  uint32_t receiver(uint32_t channel) const { return channels[channel].messages.front().receive.part; }
  /// The commands that send and receive each message, in their order.
  std::span<const MessageEnds> messages(uint32_t channel) const { return channels[channel].messages; }
  /// How many messages there is room for.
  uint32_t depth(uint32_t channel) const { return channels[channel].depth; }

  /// The ranks of the sending part that a rank of the receiving one fetches from.
  std::span<const uint32_t> sources(uint32_t channel, uint32_t receiver) const {
    return channels[channel].sources[receiver];
  }
  /// The ranks of the receiving part that fetch from a rank of the sending one.
  std::span<const uint32_t> listeners(uint32_t channel, uint32_t sender) const {
    return channels[channel].listeners[sender];
  }

  size_t elementSize(uint32_t channel) const { return channels[channel].elementSize; }
  /// Bytes of a message that each rank of the sending part sends.
  size_t sentBytes(uint32_t channel) const { return channels[channel].sentBytes; }
  /// What a rank of the receiving part fetches.
  std::span<const Piece> pieces(uint32_t channel, uint32_t receiver) const {
    return channels[channel].pieces[receiver];
  }

private:
  struct Channel {
    std::vector<MessageEnds> messages;
    uint32_t depth;
    size_t elementSize, sentBytes;
    std::vector<std::vector<Piece>> pieces;                // of each receiving rank
    std::vector<std::vector<uint32_t>> sources, listeners; // of each receiving, each sending rank
  };
  static Channel open(const plan::PlanT &plan, std::vector<MessageEnds> messages);

  std::vector<Channel> channels;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_CHANNELS_H
