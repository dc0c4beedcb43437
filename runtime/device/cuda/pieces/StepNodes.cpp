#include "runtime/device/cuda/pieces/StepNodes.h"

#include "runtime/device/cuda/StepWork.h"

#include <algorithm>

namespace epl::runtime::cuda {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

class NodeMaker {
public:
  NodeMaker(const StepWork &work, const Channels &channels, uint32_t cards) : work(work), channels(channels) {
    for (const StepWork::Rank &rank : work.localRanks()) {
      const plan::PlanT &plan = work.plan(rank.part);
      firstLane.push_back(numLanes);
      numLanes += uint32_t(plan.lanes.size());
      ends.emplace_back(plan.commands.size(), kNone);
    }
    last.assign(numLanes + cards, kNone);
  }

  /// Of one command.
  void add(uint32_t first, uint32_t end) {
    std::vector<uint32_t> befores(end - first, kNone);
    for (uint32_t item = first; item < end; ++item)
      if (const StepWork::Item &each = work.items()[item]; each.calls.transfer && !each.isSent) {
        befores[item - first] = addOnLane(StepNode::Kind::before, item, each.calls.packs.empty());
        addWaits(item, nodes.back().needs);
      }
    std::map<uint32_t, uint32_t> transfers = addTransfers(first, end, befores);
    for (uint32_t item = first; item < end; ++item)
      if (!work.items()[item].isSent)
        addEnd(item, befores[item - first], transfers);
  }
  std::vector<StepNode> take() { return std::move(nodes); }

private:
  /// Behind the node before it on its stream.
  uint32_t addNode(StepNode node) {
    auto number = uint32_t(nodes.size());
    if (last[node.stream] != kNone)
      node.needs.push_back(last[node.stream]);
    last[node.stream] = number;
    nodes.push_back(std::move(node));
    return number;
  }
  uint32_t addOnLane(StepNode::Kind kind, uint32_t item, bool isEmpty) {
    const StepWork::Item &each = work.items()[item];
    const StepWork::Rank &rank = work.localRanks()[each.rank];
    uint32_t lane = work.plan(rank.part).commands[each.command.command]->lane;
    return addNode({kind, item, rank.card, firstLane[each.rank] + lane, isEmpty, {}, {}});
  }
  void addEnd(uint32_t item, uint32_t before, const std::map<uint32_t, uint32_t> &transfers) {
    const StepWork::Item &each = work.items()[item];
    bool isWhole = before == kNone;
    bool isEmpty = isWhole ? each.calls.isEmpty() : each.calls.kernels.empty();
    uint32_t end = addOnLane(isWhole ? StepNode::Kind::whole : StepNode::Kind::behind, item, isEmpty);
    if (isWhole)
      addWaits(item, nodes.back().needs);
    else
      nodes.back().needs.push_back(transfers.at(work.localRanks()[each.rank].card));
    ends[each.rank][each.command.command] = end;
  }

  /// On each card; what another process receives leaves behind the command that has put it into the channel's
  /// memory.
  std::map<uint32_t, uint32_t> addTransfers(uint32_t first, uint32_t end, std::span<const uint32_t> befores) {
    std::map<uint32_t, std::vector<uint32_t>> needs; // by card
    std::map<uint32_t, std::vector<Group>> groups;
    for (uint32_t item = first; item < end; ++item) {
      const StepWork::Item &each = work.items()[item];
      if (!each.calls.transfer)
        continue;
      uint32_t card = work.localRanks()[each.rank].card;
      needs[card].push_back(each.isSent ? ends[each.rank][sendOf(each).command] : befores[item - first]);
      groups[card].push_back(work.groupOf(each));
    }
    std::map<uint32_t, uint32_t> made;
    for (auto &[card, own] : needs)
      made[card] =
          addNode({StepNode::Kind::transfer, first, card, numLanes + card, false, std::move(own), {}});
    addPartners(made, groups);
    for (uint32_t item = first; item < end; ++item)
      if (const StepWork::Item &each = work.items()[item]; each.isSent && each.calls.transfer)
        sent[{each.rank, receiveOf(each).channel, receiveOf(each).message}] =
            made.at(work.localRanks()[each.rank].card);
    return made;
  }
  /// Cards that have a group in common, or each with another one.
  void addPartners(const std::map<uint32_t, uint32_t> &transfers,
                   const std::map<uint32_t, std::vector<Group>> &groups) {
    std::map<Group, std::vector<uint32_t>> members; // transfers
    for (auto [card, transfer] : transfers)
      for (const Group &group : groups.at(card))
        members[group].push_back(transfer);
    for (auto [card, transfer] : transfers) {
      std::vector<uint32_t> &found = nodes[transfer].partners;
      found.push_back(transfer);
      for (size_t open = 0; open < found.size(); ++open)
        for (const Group &group : groups.at(nodes[found[open]].card))
          for (uint32_t member : members[group])
            if (std::ranges::find(found, member) == found.end())
              found.push_back(member);
    }
  }

  const plan::CommandT &commandOf(const StepWork::Item &item) const {
    return *work.plan(item.command.part).commands[item.command.command];
  }
  const plan::ReceiveT &receiveOf(const StepWork::Item &item) const {
    return *commandOf(item).action.AsReceive();
  }
  /// Of what an item receives, or has received.
  PartCommand sendOf(const StepWork::Item &item) const {
    return channels.messages(receiveOf(item).channel)[receiveOf(item).message].send;
  }

  /// Of a rank in another process there is none: what that has is read by a call that begins when it comes to
  /// the command there, and what it reads has been read when the own call has ended, for which the own rank
  /// waits.
  void need(uint32_t part, uint32_t rank, uint32_t command, std::vector<uint32_t> &needs) const {
    if (std::optional<uint32_t> place = work.placeOf(part, rank))
      needs.push_back(ends[*place][command]);
  }
  void addWaits(uint32_t item, std::vector<uint32_t> &needs) const {
    const StepWork::Item &each = work.items()[item];
    const StepWork::Rank &place = work.localRanks()[each.rank];
    const plan::CommandT &command = commandOf(each);
    for (const plan::Wait &wait : command.waits) {
      std::span<const uint32_t> members =
          wait.scope() == plan::WaitScope::self
              ? std::span<const uint32_t>(&place.rank, 1)
              : work.topology(place.part).members(wait.communicator(), place.rank);
      for (uint32_t member : members)
        need(place.part, member, wait.command(), needs);
    }
    addMessages(each, place.rank, needs);
  }
  /// A receive waits until the message was sent, a send until there is room for it.
  void addMessages(const StepWork::Item &item, uint32_t rank, std::vector<uint32_t> &needs) const {
    const plan::CommandT &command = commandOf(item);
    if (const plan::ReceiveT *receive = command.action.AsReceive())
      for (uint32_t source : channels.sources(receive->channel, rank))
        need(sendOf(item).part, source, sendOf(item).command, needs);
    const plan::SendT *send = command.action.AsSend();
    if (!send || send->message < channels.depth(send->channel))
      return;
    uint32_t before = send->message - channels.depth(send->channel);
    PartCommand receive = channels.messages(send->channel)[before].receive;
    for (uint32_t listener : channels.listeners(send->channel, rank))
      need(receive.part, listener, receive.command, needs);
    if (auto found = sent.find({item.rank, send->channel, before}); found != sent.end())
      needs.push_back(found->second);
  }

  const StepWork &work;
  const Channels &channels;
  uint32_t numLanes = 0;
  std::vector<uint32_t> firstLane;         // of each local rank
  std::vector<std::vector<uint32_t>> ends; // of each local rank's commands
  std::vector<uint32_t> last;              // of each stream
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t>
      sent; // transfers, by rank, channel and message
  std::vector<StepNode> nodes;
};

} // namespace

std::vector<StepNode> findNodes(const StepWork &work, const Channels &channels, uint32_t cards) {
  NodeMaker maker(work, channels, cards);
  auto count = uint32_t(work.items().size());
  for (uint32_t first = 0, end = 0; first < count; first = end) {
    while (end < count && work.items()[end].command == work.items()[first].command)
      ++end;
    maker.add(first, end);
  }
  return maker.take();
}

} // namespace epl::runtime::cuda
