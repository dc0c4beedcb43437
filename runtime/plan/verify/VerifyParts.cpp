// The parts of a plan for several meshes: who has which device and which slot, and that what one part waits
// for another one sends.
//
// A part is proved by itself, as a plan for one mesh is: a send reads, a receive writes. What is left is that
// every message of a channel has two ends of one tensor, and that no parts wait for each other. All ranks of
// a part do the same commands in the same order, so that one graph stands for all ranks: its nodes are the
// commands of the parts, its edges the lanes, the waits and the messages. If it has no cycle, every rank
// comes to its end. A channel has room for `depth` messages: the send of one waits for the receive of that in
// whose place it comes, an edge too.
#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace epl::runtime {
namespace {

std::string partName(size_t index) { return "part " + std::to_string(index); }

/// What must end before what begins. A node runs once all before it have (A. Kahn, Topological sorting of
/// large networks, 1962), so that each edge is looked at once.
class Graph {
public:
  explicit Graph(uint32_t nodes) : later(nodes), awaited(nodes) {}

  void add(uint32_t before, uint32_t after) {
    later[before].push_back(after);
    ++awaited[after];
  }

  void run() {
    std::vector<uint32_t> ready;
    for (uint32_t node = 0; node < awaited.size(); ++node)
      if (awaited[node] == 0)
        ready.push_back(node);
    while (!ready.empty()) {
      uint32_t node = ready.back();
      ready.pop_back();
      for (uint32_t next : later[node])
        if (--awaited[next] == 0)
          ready.push_back(next);
    }
  }

  /// The first of `count` nodes from `first` on that has not run, counted from there.
  std::optional<uint32_t> stuck(uint32_t first, uint32_t count) const {
    auto begin = awaited.begin() + first, end = begin + count;
    auto found = std::find_if(begin, end, [](uint32_t number) { return number > 0; });
    return found == end ? std::nullopt : std::optional(uint32_t(found - begin));
  }

private:
  std::vector<std::vector<uint32_t>> later;
  std::vector<uint32_t> awaited; // how many have not run yet
};

class Parts {
public:
  Parts(const plan::PlanT &plan, Report &report) : plan(plan), report(report) {}

  void run() {
    for (uint32_t index = 0; index < plan.parts.size(); ++index) {
      checkDevices(index);
      checkSlots(index);
    }
    checkOwners();
    if (!report.failed())
      checkChannels();
  }

private:
  void checkDevices(uint32_t index) {
    const plan::PartT &part = *plan.parts[index];
    if (part.strides.size() != part.plan->axes.size())
      return report.add(partName(index), " has ", part.strides.size(), " strides, expected one for each of ",
                        part.plan->axes.size(), " axes");
    uint64_t last = part.first;
    for (size_t axis = 0; axis < part.strides.size(); ++axis)
      last += uint64_t(part.strides[axis]) * (part.plan->axes[axis]->size - 1);
    if (last >= plan.devices)
      return report.add(partName(index), " reaches device ", last, " of ", plan.devices);
    if (part.plan->nodes != 1)
      report.add(partName(index), " is for ", part.plan->nodes,
                 " nodes, expected this to be said of the whole");
    for (uint32_t place : placesOf(part))
      if (auto [other, isFree] = taken.try_emplace(place, index); !isFree)
        report.add(partName(index), " has device ", deviceAt(plan, place), ", as part ", other->second,
                   " does");
  }

  void checkSlots(uint32_t index) {
    const plan::PartT &part = *plan.parts[index];
    if (part.slots.size() != part.plan->slots.size())
      return report.add(partName(index), " says what ", part.slots.size(), " slots are, expected ",
                        part.plan->slots.size());
    std::set<uint32_t> mine; // without those that rows of are held
    for (uint32_t slot = 0; slot < part.slots.size(); ++slot) {
      std::string user = "slot " + slotName(*part.plan, slot) + " of " + partName(index);
      uint32_t whole = part.slots[slot];
      if (whole >= plan.slots.size())
        report.add(user, " is slot ", whole, " of ", plan.slots.size(), " of the plan");
      else if (!part.plan->slots[slot]->caller_rows && !mine.insert(whole).second)
        report.add(user, " is slot ", slotName(plan, whole), " of the plan, as another slot of the part is");
      else
        checkSame(user, part, slot, whole);
      if (whole < plan.slots.size())
        owners[whole].push_back(part.plan->slots[slot].get());
    }
  }

  void checkSame(const std::string &user, const plan::PartT &part, uint32_t index, uint32_t whole) {
    const plan::SlotT &slot = *part.plan->slots[index], &expected = *plan.slots[whole];
    if (slot.role != expected.role || slot.type != expected.type || slot.hidden != expected.hidden ||
        slot.name != expected.name || callerShape(slot) != callerShape(expected))
      return report.add(user, " has another name, role, type or shape than slot ", slotName(plan, whole),
                        " of the plan");
    if (slot.in_host != expected.in_host)
      report.add(user, " is in memory of ", slot.in_host ? "the host" : "devices", ", expected that of slot ",
                 slotName(plan, whole), " of the plan");
    int64_t updates = slot.updates < 0 ? -1 : int64_t(part.slots[size_t(slot.updates)]);
    if (updates != expected.updates)
      report.add(user, " updates slot ", updates, " of the plan, expected ", expected.updates);
  }

  void checkOwners() {
    for (uint32_t slot = 0; slot < plan.slots.size() && !report.failed(); ++slot) {
      auto hasRows = [](const plan::SlotT *own) { return own->caller_rows != nullptr; };
      if (std::ranges::any_of(owners[slot], hasRows))
        checkRows(slot);
      else if (owners[slot].empty() ||
               (owners[slot].size() > 1 && plan.slots[slot]->role != plan::SlotRole::batch))
        report.add("slot ", slotName(plan, slot), " is in ", owners[slot].size(), " parts, expected ",
                   plan.slots[slot]->role == plan::SlotRole::batch ? "one at least" : "one");
    }
  }

  /// Each row of a slot is held once.
  void checkRows(uint32_t slot) {
    std::map<int64_t, int64_t> held; // the end of the rows that begin with one
    for (const plan::SlotT *own : owners[slot])
      if (!own->caller_rows)
        return report.add("slot ", slotName(plan, slot), " is held whole, and rows of it are, too");
      else if (int64_t first = own->caller_rows->first(); !held.emplace(first, first + ownRows(*own)).second)
        return report.add("row ", first, " of slot ", slotName(plan, slot), " is held twice");
    int64_t next = 0;
    for (auto [first, end] : held) {
      if (first != next)
        return report.add("row ", std::min(first, next), " of slot ", slotName(plan, slot), " is held ",
                          first > next ? "by no part" : "twice");
      next = end;
    }
    if (int64_t count = callerShape(*plan.slots[slot]).front(); next != count)
      report.add("row ", next, " of slot ", slotName(plan, slot), " is held by no part, expected all ",
                 count);
  }

  struct Ends {
    std::optional<PartCommand> send, receive;
  };
  using Messages = std::map<uint32_t, Ends>; // of a channel

  std::string nameOf(PartCommand command) const {
    return "command " + commandName(*plan.parts[command.part]->plan, command.command) + " of " +
           partName(command.part);
  }

  void addEnd(std::optional<PartCommand> &end, PartCommand command, uint32_t channel, uint32_t message) {
    if (end)
      report.add(nameOf(command), " is on channel ", channel, ofMessage(message), ", as ", nameOf(*end),
                 " is");
    end = command;
  }

  static std::string ofMessage(uint32_t message) {
    return message == 0 ? "" : " for message " + std::to_string(message);
  }

  void checkChannels() {
    std::map<uint32_t, Messages> channels;
    for (uint32_t part = 0; part < plan.parts.size(); ++part) {
      const auto &commands = plan.parts[part]->plan->commands;
      for (uint32_t command = 0; command < commands.size(); ++command)
        if (const plan::SendT *send = commands[command]->action.AsSend())
          addEnd(channels[send->channel][send->message].send, {part, command}, send->channel, send->message);
        else if (const plan::ReceiveT *receive = commands[command]->action.AsReceive())
          addEnd(channels[receive->channel][receive->message].receive, {part, command}, receive->channel,
                 receive->message);
    }
    uint32_t expected = 0;
    for (const auto &[channel, messages] : channels) {
      if (channel != expected++)
        return report.add("there is a channel ", channel, " but no channel ", expected - 1);
      checkMessages(channel, messages);
    }
    if (!report.failed())
      checkOrder(channels);
  }

  void checkMessages(uint32_t channel, const Messages &messages) {
    uint32_t expected = 0;
    for (const auto &[message, ends] : messages) {
      if (message != expected++)
        return report.add("channel ", channel, " has a message ", message, " but no message ", expected - 1);
      checkEnds(channel, message, ends);
      if (!report.failed())
        checkSame(channel, messages.begin()->second, ends);
    }
  }

  void checkEnds(uint32_t channel, uint32_t message, const Ends &ends) {
    if (!ends.send || !ends.receive)
      return report.add(nameOf(ends.send ? *ends.send : *ends.receive), " is on channel ", channel,
                        ofMessage(message), ", which nothing ", ends.send ? "receives" : "sends");
    if (ends.send->part == ends.receive->part)
      return report.add(nameOf(*ends.receive), " receives what its own part sends");
    const plan::SendT &send = *actionOf(*ends.send).AsSend();
    const plan::ReceiveT &receive = *actionOf(*ends.receive).AsReceive();
    if (send.type != receive.type || send.shape != receive.shape)
      report.add(nameOf(*ends.receive), " receives a tensor of another type or shape than ",
                 nameOf(*ends.send), " sends");
    if (send.depth == 0 || send.depth != receive.depth)
      report.add(nameOf(*ends.send), " sends by channel ", channel, " of depth ", send.depth, ", ",
                 nameOf(*ends.receive), " receives by one of depth ", receive.depth,
                 ", expected the same, 1 at least");
  }

  /// All messages of a channel go the same way, are of one tensor and share the channel's memory.
  void checkSame(uint32_t channel, const Ends &first, const Ends &ends) {
    const plan::SendT &send = *actionOf(*ends.send).AsSend(), &expected = *actionOf(*first.send).AsSend();
    const plan::ReceiveT &receive = *actionOf(*ends.receive).AsReceive();
    if (ends.send->part != first.send->part || ends.receive->part != first.receive->part)
      report.add(nameOf(*ends.send), " and ", nameOf(*ends.receive), " are on channel ", channel,
                 ", which is from part ", first.send->part, " to part ", first.receive->part);
    else if (send.depth != expected.depth || send.type != expected.type || send.shape != expected.shape ||
             !haveSameAxes(send.sharding, expected.sharding) ||
             !haveSameAxes(receive.sharding, actionOf(*first.receive).AsReceive()->sharding))
      report.add(nameOf(*ends.send), " and ", nameOf(*ends.receive),
                 " have another depth, type, shape or sharding than the first message of channel ", channel);
  }

  static bool haveSameAxes(const std::vector<std::unique_ptr<plan::DimShardingT>> &a,
                           const std::vector<std::unique_ptr<plan::DimShardingT>> &b) {
    return std::ranges::equal(a, b,
                              [](const auto &one, const auto &other) { return one->axes == other->axes; });
  }

  const plan::ActionUnion &actionOf(PartCommand command) const {
    return plan.parts[command.part]->plan->commands[command.command]->action;
  }

  /// Runs all parts together, as far as they come: each command behind those before it in its lane, those it
  /// waits for and, if it receives, the send; if it sends, behind the receive that makes room.
  void checkOrder(const std::map<uint32_t, Messages> &channels) {
    std::vector<uint32_t> first; // of each part, the number of its first command
    uint32_t count = 0;
    for (const auto &part : plan.parts) {
      first.push_back(count);
      count += uint32_t(part->plan->commands.size());
    }
    Graph graph(count);
    for (uint32_t part = 0; part < plan.parts.size(); ++part)
      addCommands(*plan.parts[part]->plan, first[part], graph);
    auto nodeOf = [&](PartCommand command) { return first[command.part] + command.command; };
    for (const auto &[channel, messages] : channels)
      for (const auto &[message, ends] : messages) {
        graph.add(nodeOf(*ends.send), nodeOf(*ends.receive));
        if (uint32_t depth = actionOf(*ends.send).AsSend()->depth; message >= depth)
          graph.add(nodeOf(*messages.at(message - depth).receive), nodeOf(*ends.send));
      }
    graph.run();
    for (uint32_t part = 0; part < plan.parts.size(); ++part)
      if (std::optional<uint32_t> stuck =
              graph.stuck(first[part], uint32_t(plan.parts[part]->plan->commands.size())))
        report.add(nameOf({part, *stuck}), " waits for what waits for it: the parts never end");
  }

  static void addCommands(const plan::PlanT &part, uint32_t first, Graph &graph) {
    for (const auto &lane : part.lanes)
      for (size_t i = 1; i < lane->commands.size(); ++i)
        graph.add(first + lane->commands[i - 1], first + lane->commands[i]);
    for (uint32_t command = 0; command < part.commands.size(); ++command)
      for (const plan::Wait &wait : part.commands[command]->waits)
        graph.add(first + wait.command(), first + command);
  }

  const plan::PlanT &plan;
  Report &report;
  std::map<uint32_t, uint32_t> taken;                          // devices, and by which part
  std::map<uint32_t, std::vector<const plan::SlotT *>> owners; // the slots of parts that each slot is
};

} // namespace

void checkWhole(const plan::PlanT &plan, Report &report) {
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
    if (plan.slots[slot]->caller_rows)
      report.add("slot ", slotName(plan, slot), " has rows of the caller's tensor, expected this of parts");
  if (plan.parts.empty()) {
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      if (auto type = plan.commands[command]->action.type;
          type == plan::Action::Send || type == plan::Action::Receive)
        report.add("command ", commandName(plan, command), " is on a channel, but the plan has no parts");
    return;
  }
  if (plan.parts.size() < 2)
    report.add("plan has 1 part, expected none, or two and more");
  if (!plan.axes.empty() || !plan.communicators.empty() || !plan.buffers.empty() || !plan.kernels.empty() ||
      !plan.commands.empty() || !plan.lanes.empty() || plan.arena_size != 0)
    report.add(
        "plan has parts, and axes, communicators, buffers, kernels, commands, lanes or an arena of its "
        "own");
  for (size_t index = 0; index < plan.parts.size(); ++index) {
    const plan::PlanT &part = *plan.parts[index]->plan;
    if (!part.parts.empty())
      report.add(partName(index), " has parts, expected none");
    if (!part.images.empty())
      report.add(partName(index), " has images of its own, expected those of the plan");
    if (part.device_kind != plan.device_kind)
      report.add(partName(index), " is for devices of kind ", quoted(part.device_kind), ", expected ",
                 quoted(plan.device_kind));
  }
}

void checkParts(const plan::PlanT &plan, Report &report) { Parts(plan, report).run(); }

} // namespace epl::runtime
