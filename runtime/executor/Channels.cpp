#include "runtime/executor/Channels.h"

#include "runtime/collective/inproc/Collective.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime {

Channels::Channels(const plan::PlanT &plan) {
  for (ChannelEnds ends : channelsOf(plan))
    channels.push_back(open(plan, ends));
}

Channels::Channel Channels::open(const plan::PlanT &plan, ChannelEnds ends) {
  const plan::PlanT &from = *plan.parts[ends.send.part]->plan, &to = *plan.parts[ends.receive.part]->plan;
  const plan::SendT &send = *from.commands[ends.send.command]->action.AsSend();
  const plan::ReceiveT &receive = *to.commands[ends.receive.command]->action.AsReceive();
  Channel channel{ends,
                  elementBytes(send.type),
                  tensorBytes(send.type, partShape(from, send.shape, send.sharding)),
                  fetchesOf(from, send, to, receive),
                  {},
                  {},
                  {}};
  channel.sources.resize(to.devices);
  channel.listeners.resize(from.devices);
  for (uint32_t rank = 0; rank < to.devices; ++rank)
    for (const Piece &piece : channel.pieces[rank]) {
      channel.sources[rank].push_back(piece.holder);
      channel.listeners[piece.holder].push_back(rank);
    }
  for (uint32_t rank = 0; rank < from.devices; ++rank)
    channel.memory.emplace_back(channel.listeners[rank].empty() ? 0 : channel.sentBytes);
  return channel;
}

void Channels::send(uint32_t index, uint32_t rank, const void *source) const {
  const Channel &channel = channels[index];
  if (channel.memory[rank].size() != 0) // else nobody fetches from it
    std::memcpy(channel.memory[rank].data(), source, channel.sentBytes);
}

void Channels::receive(uint32_t index, uint32_t rank, void *target) const {
  const Channel &channel = channels[index];
  for (const Piece &piece : channel.pieces[rank])
    copyBox(channel.memory[piece.holder].data(), target, piece.box, channel.elementSize);
}

} // namespace epl::runtime
