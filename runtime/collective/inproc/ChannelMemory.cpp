#include "runtime/collective/inproc/ChannelMemory.h"

#include "runtime/collective/inproc/Collective.h"

#include <cstring>

namespace epl::runtime {

ChannelMemory::ChannelMemory(const Channels &channels, const LocalRanks &ranks, DeviceSet &devices)
    : channels(channels), memory(channels.size()) {
  for (uint32_t channel = 0; channel < channels.size(); ++channel) {
    uint32_t part = channels.sender(channel);
    size_t bytes = channels.depth(channel) * channels.sentBytes(channel);
    for (uint32_t rank : ranks.of(part)) {
      memory[channel].resize(rank + 1);
      if (!channels.listeners(channel, rank).empty()) // else nobody fetches from it
        memory[channel][rank] = devices.allocate(ranks.device(part, rank), bytes, Memory::Fill::zeros);
    }
  }
}

void ChannelMemory::send(uint32_t channel, uint32_t message, uint32_t rank, const void *source) const {
  const Allocation *own = memory[channel][rank].get();
  if (own && own->size() != 0)
    std::memcpy(own->address() + offsetOf(channel, message), source, channels.sentBytes(channel));
}

void ChannelMemory::receive(uint32_t channel, uint32_t message, uint32_t rank, void *target,
                            const FetchedBuffers *fetched) const {
  const auto &own = memory[channel];
  for (const Piece &piece : channels.pieces(channel, rank)) {
    bool isHere = piece.holder < own.size() && own[piece.holder];
    const void *source =
        isHere ? own[piece.holder]->address() + offsetOf(channel, message) : fetched->get(piece.holder, 0);
    copyBox(source, target, piece.box, channels.elementSize(channel));
  }
}

} // namespace epl::runtime
