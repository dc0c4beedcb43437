#include "runtime/plan/model/Channels.h"

namespace epl::runtime {

Channels::Channels(const plan::PlanT &plan) {
  for (std::vector<MessageEnds> &messages : channelsOf(plan))
    channels.push_back(open(plan, std::move(messages)));
}

Channels::Channel Channels::open(const plan::PlanT &plan, std::vector<MessageEnds> messages) {
  MessageEnds ends = messages.front(); // all are of one tensor
  const plan::PlanT &from = *plan.parts[ends.send.part]->plan, &to = *plan.parts[ends.receive.part]->plan;
  const plan::SendT &send = *from.commands[ends.send.command]->action.AsSend();
  const plan::ReceiveT &receive = *to.commands[ends.receive.command]->action.AsReceive();
  Channel channel{std::move(messages),
                  send.depth,
                  elementBytes(send.type),
                  tensorBytes(send.type, partShape(from, send.shape, send.sharding)),
                  fetchesOf(from, send, to, receive),
                  {},
                  {}};
  channel.sources.resize(to.devices);
  channel.listeners.resize(from.devices);
  for (uint32_t rank = 0; rank < to.devices; ++rank)
    for (const Piece &piece : channel.pieces[rank]) {
      channel.sources[rank].push_back(piece.holder);
      channel.listeners[piece.holder].push_back(rank);
    }
  return channel;
}

} // namespace epl::runtime
