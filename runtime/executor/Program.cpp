#include "runtime/executor/Program.h"

#include "runtime/executor/Owned.h"
#include "runtime/plan/model/Cost.h"

#include <algorithm>

namespace epl::runtime {

Program::Program(const plan::PlanT &plan, uint32_t part, const LocalRanks &ranks, const Code *code,
                 const BoundCollectives &collectives)
    : source(plan), partIndex(part), table(source), here(ranks.of(part)) {
  bindPeers(ranks);
  bindCommands(code, collectives);
  bindLanes();
  bindWaits();
}

void Program::bindPeers(const LocalRanks &ranks) {
  for (uint32_t communicator = 0; communicator < source.communicators.size(); ++communicator) {
    peerLists.emplace_back();
    for (uint32_t rank = 0; rank < table.size(); ++rank) {
      std::vector<uint32_t> peers;
      for (uint32_t member : table.members(communicator, rank))
        if (ranks.has(partIndex, member))
          peers.push_back(member);
      peerLists.back().add(peers);
    }
  }
}

std::unique_ptr<Command> Program::bindCommand(uint32_t index, const Code &code,
                                              const BoundCollectives &collectives) const {
  const plan::CommandT &command = *source.commands[index];
  CommandKind kind = kindOf(command);
  bool moves = kind == CommandKind::collective || kind == CommandKind::transfer;
  auto action = moves ? collectives.bind(source, partIndex, index) : code.bind(source, index);
  return ownedBy(command.owner.get(), std::move(action));
}

void Program::bindCommands(const Code *code, const BoundCollectives &collectives) {
  for (uint32_t index = 0; index < source.commands.size(); ++index) {
    const plan::CommandT &command = *source.commands[index];
    const plan::ReceiveT *receive = command.action.AsReceive();
    const plan::SendT *send = command.action.AsSend();
    bool isBound = code && !command.action.AsPull() && !command.action.AsPush();
    bound.push_back({isBound ? bindCommand(index, *code, collectives) : nullptr, send || receive});
    if (isBound)
      maxPointers = std::max(maxPointers, bound.back().command->numPointers());
    receivedMessages.push_back(receive ? std::optional<Message>({receive->channel, receive->message})
                                       : std::nullopt);
    sentMessages.push_back(send ? std::optional<Message>({send->channel, send->message}) : std::nullopt);
  }
}

void Program::bindLanes() {
  places.resize(source.commands.size());
  for (uint32_t lane = 0; lane < source.lanes.size(); ++lane) {
    const plan::LaneT &from = *source.lanes[lane];
    (from.kind == plan::LaneKind::compute ? computing : communicating).push_back(lane);
    for (uint32_t position = 0; position < from.commands.size(); ++position)
      places[from.commands[position]] = {lane, position};
  }
}

void Program::bindWaits() {
  std::vector<std::vector<uint32_t>> listeners(places.size());
  for (const auto &command : source.commands) {
    std::vector<Place> local;
    std::vector<RemoteWait> remote;
    for (const plan::Wait &wait : command->waits) {
      Place place = places[wait.command()];
      if (wait.scope() == plan::WaitScope::self || table.groupSize(wait.communicator()) == 1) {
        local.push_back(place);
        continue;
      }
      remote.push_back({place, wait.communicator()});
      std::vector<uint32_t> &others = listeners[wait.command()];
      if (std::ranges::find(others, wait.communicator()) == others.end())
        others.push_back(wait.communicator());
    }
    localLists.add(local);
    remoteLists.add(remote);
  }
  for (uint32_t command = 0; command < listeners.size(); ++command) {
    listenerLists.add(listeners[command]);
    bound[command].isHeard |= !listeners[command].empty();
  }
}

} // namespace epl::runtime
