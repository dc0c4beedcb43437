#include "runtime/device/cuda/CommandOrder.h"

#include "runtime/Error.h"

#include <algorithm>
#include <optional>

namespace epl::runtime::cuda {
namespace {

/// An order that grows.
class Ordering {
public:
  Ordering(const std::vector<const plan::PlanT *> &plans, const Channels &channels)
      : plans(plans), channels(channels) {
    for (const plan::PlanT *plan : plans) {
      done.emplace_back(plan->commands.size());
      next.emplace_back(plan->lanes.size());
    }
  }

  /// A command of a part that can be next, the first one of its program; its number of commands if there is
  /// none.
  uint32_t find(uint32_t part) const {
    auto first = uint32_t(plans[part]->commands.size());
    for (size_t lane = 0; lane < next[part].size(); ++lane) {
      const std::vector<uint32_t> &commands = plans[part]->lanes[lane]->commands;
      if (next[part][lane] < commands.size() && canFollow({part, commands[next[part][lane]]}))
        first = std::min(first, commands[next[part][lane]]);
    }
    return first;
  }
  void add(PartCommand at) {
    done[at.part][at.command] = true;
    ++next[at.part][plans[at.part]->commands[at.command]->lane];
  }
  /// A command that nothing can be before; none if all are in order.
  std::optional<PartCommand> findLeft() const {
    for (uint32_t part = 0; part < plans.size(); ++part)
      for (uint32_t command = 0; command < done[part].size(); ++command)
        if (!done[part][command])
          return PartCommand{part, command};
    return std::nullopt;
  }

private:
  bool isDone(PartCommand at) const { return done[at.part][at.command]; }
  bool canFollow(PartCommand at) const {
    const plan::CommandT &command = *plans[at.part]->commands[at.command];
    for (const plan::Wait &wait : command.waits)
      if (!isDone({at.part, wait.command()}))
        return false;
    if (const plan::ReceiveT *receive = command.action.AsReceive())
      return isDone(channels.messages(receive->channel)[receive->message].send);
    const plan::SendT *send = command.action.AsSend();
    uint32_t depth = send ? channels.depth(send->channel) : 0;
    return !send || send->message < depth ||
           isDone(channels.messages(send->channel)[send->message - depth].receive);
  }

  const std::vector<const plan::PlanT *> &plans;
  const Channels &channels;
  std::vector<std::vector<bool>> done;
  std::vector<std::vector<size_t>> next; // of each part's lanes
};

} // namespace

std::vector<PartCommand> orderCommands(const std::vector<const plan::PlanT *> &meshes,
                                       const Channels &channels) {
  std::vector<PartCommand> order;
  Ordering ordering(meshes, channels);
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t part = 0; part < meshes.size(); ++part)
      for (uint32_t command; (command = ordering.find(part)) < meshes[part]->commands.size(); moves = true) {
        ordering.add({part, command});
        order.push_back({part, command});
      }
  }
  if (std::optional<PartCommand> left = ordering.findLeft())
    throw Error("the commands of the plan's parts wait for each other, \"" +
                meshes[left->part]->commands[left->command]->name + "\" among them");
  return order;
}

std::vector<size_t> placesIn(const std::vector<PartCommand> &order, uint32_t part, const plan::PlanT &mesh) {
  std::vector<size_t> places(mesh.commands.size());
  for (size_t place = 0; place < order.size(); ++place)
    if (order[place].part == part)
      places[order[place].command] = place;
  return places;
}

} // namespace epl::runtime::cuda
