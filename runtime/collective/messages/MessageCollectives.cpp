#include "runtime/collective/messages/MessageCollectives.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Commands.h"
#include "runtime/collective/messages/FetchCommand.h"
#include "runtime/collective/messages/MessageTable.h"
#include "runtime/device/cpu/Guarded.h"

#include <algorithm>

namespace epl::runtime {

namespace {

/// Inboxes that take turns, so that the next delivery comes while the last one is read.
class Turns {
public:
  static constexpr size_t kOfCollectives = 2;

  explicit Turns(size_t count) : sizes(count), inboxes(count) {}

  void reserve(size_t turn, size_t size) {
    sizes[turn % sizes.size()] = std::max(sizes[turn % sizes.size()], size);
  }
  Inbox &get(size_t turn, Endpoint &endpoint, uint32_t readers) {
    std::unique_ptr<Inbox> &inbox = inboxes[turn % sizes.size()];
    if (!inbox)
      inbox = std::make_unique<Inbox>(endpoint, readers, sizes[turn % sizes.size()]);
    return *inbox;
  }

private:
  std::vector<size_t> sizes;
  std::vector<std::unique_ptr<Inbox>> inboxes;
};

/// Ranks that are here and read one delivery: those of one instance of a communicator, or of a channel.
struct Readers {
  std::vector<uint32_t> ranks;
  Delivery delivery;
  Turns *turns;
  size_t turn;
};

/// A rank that reads messages as they come.
struct StreamReader {
  uint32_t rank;
  Stream::Messages messages;
  Stream *stream;
};

class BoundMessages final : public BoundCollectives {
public:
  BoundMessages(const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks,
                DeviceSet &devices, std::shared_ptr<Transport> transport, const Processes &processes)
      : channels(channels), ranks(ranks), endpoint(std::move(transport), processes.areOne(plan.devices)),
        memory(channels, ranks, devices), table(plan, channels, ranks, processes), plans(meshPlansOf(plan)) {
    for (uint32_t part = 0; part < plans.size(); ++part) {
      parts.emplace_back(plans[part]->commands.size());
      for (uint32_t command = 0; command < plans[part]->commands.size(); ++command)
        prepare(*plans[part], part, command);
    }
  }

  std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t part, uint32_t command) const override {
    const plan::CommandT &source = *plan.commands[command];
    std::unique_ptr<Command> action = bindCollective(plan, source.action, memory);
    bool isAlone = table.sent(part, command).empty() && table.received(part, command).empty();
    if (const plan::SendT *send = source.action.AsSend(); send && !isAlone)
      action = makeSendCommand(std::move(action), send->source, getMail(plan, part, command), endpoint);
    else if (!isAlone)
      action = makeFetchCommand(std::move(action), getMail(plan, part, command), endpoint);
    return guarded(std::move(action), source.guards);
  }

  void breakOff() noexcept override { endpoint.breakOff(); }
  std::vector<Waiting> waiting() const override;
  uint64_t numMoved() const noexcept override { return endpoint.state().numMoved(); }

private:
  /// A lane, and the first rank of a group of it.
  using Group = std::pair<uint32_t, uint32_t>;
  struct Part {
    explicit Part(size_t numCommands) : readers(numCommands), streamed(numCommands) {}

    std::vector<std::vector<Readers>> readers;       // of each command
    std::vector<std::vector<StreamReader>> streamed; // the same
    std::map<Group, std::unique_ptr<Turns>> collectives;
    std::map<Group, std::unique_ptr<Stream>> streams;
    std::map<uint32_t, std::unique_ptr<Turns>> receives; // by channel
  };

  void prepare(const plan::PlanT &plan, uint32_t part, uint32_t command);
  void prepareCollective(const plan::PlanT &plan, uint32_t part, uint32_t command);
  void addStream(Part &part, Group group, uint32_t command, uint32_t rank, Stream::Messages messages);
  void prepareReceive(uint32_t part, uint32_t command, const plan::CommandT &source);
  static void add(Part &part, const plan::CommandT &source, uint32_t command, Turns &turns, size_t turn,
                  std::vector<uint32_t> ranks, std::vector<const Message *> messages);
  std::vector<Mail> getMail(const plan::PlanT &plan, uint32_t part, uint32_t command) const;
  void addWaiting(PartCommand place, const OpenMessage &open, std::vector<Waiting> &found) const;
  Outbox &getOutbox(const plan::PlanT &plan, uint32_t part, uint32_t command, uint32_t rank) const;

  const Channels &channels;
  const LocalRanks &ranks;
  mutable Endpoint endpoint;
  ChannelMemory memory;
  MessageTable table;
  std::vector<const plan::PlanT *> plans; // of the parts
  std::vector<Part> parts;
  /// By the part, the rank, and the lane; of sends by the channel and the place of the message in its ring.
  mutable std::map<std::array<uint32_t, 4>, std::unique_ptr<Outbox>> outboxes, sendOutboxes;
};

void BoundMessages::prepare(const plan::PlanT &plan, uint32_t part, uint32_t command) {
  if (table.received(part, command).empty())
    return;
  if (plan.commands[command]->action.AsReceive())
    prepareReceive(part, command, *plan.commands[command]);
  else
    prepareCollective(plan, part, command);
}

void BoundMessages::add(Part &part, const plan::CommandT &source, uint32_t command, Turns &turns, size_t turn,
                        std::vector<uint32_t> ranks, std::vector<const Message *> messages) {
  bool isCopied = ranks.size() == 1 && (source.action.AsGatherParts() || source.action.AsCopyFromRoot());
  part.readers[command].push_back({std::move(ranks), Delivery(std::move(messages), isCopied), &turns, turn});
  turns.reserve(turn, part.readers[command].back().delivery.size());
}

/// Each instance of the communicator by itself: their guards may differ.
void BoundMessages::prepareCollective(const plan::PlanT &plan, uint32_t part, uint32_t command) {
  Mesh mesh(plan);
  uint32_t lane = plan.commands[command]->lane;
  auto communicator = uint32_t(plan.lanes[lane]->communicator);
  std::map<uint32_t, std::vector<const Message *>> groups; // by their first rank
  for (const Message &message : table.received(part, command))
    groups[mesh.members(communicator, message.holder).front()].push_back(&message);
  const std::vector<uint32_t> &order = plan.lanes[lane]->commands;
  size_t turn = size_t(std::ranges::find(order, command) - order.begin());
  for (auto &[first, messages] : groups) {
    std::vector<uint32_t> readers = mesh.members(communicator, first);
    std::erase_if(readers, [&](uint32_t rank) { return !ranks.has(part, rank); });
    const plan::ActionUnion &action = plan.commands[command]->action;
    if (readers.size() == 1 && (action.AsReducePart() || action.AsReduceToRoot()) &&
        Stream::canRead(messages)) {
      addStream(parts[part], {lane, first}, command, readers.front(), std::move(messages));
      continue;
    }
    std::unique_ptr<Turns> &turns = parts[part].collectives[{lane, first}];
    if (!turns)
      turns = std::make_unique<Turns>(Turns::kOfCollectives);
    add(parts[part], *plan.commands[command], command, *turns, turn, std::move(readers), std::move(messages));
  }
}

/// One rank does the commands of a lane one after the other, so that they share a stream.
void BoundMessages::addStream(Part &part, Group group, uint32_t command, uint32_t rank,
                              Stream::Messages messages) {
  std::unique_ptr<Stream> &stream = part.streams[group];
  if (!stream)
    stream = std::make_unique<Stream>(endpoint);
  stream->reserve(messages);
  part.streamed[command].push_back({rank, std::move(messages), stream.get()});
}

void BoundMessages::prepareReceive(uint32_t part, uint32_t command, const plan::CommandT &source) {
  const plan::ReceiveT &receive = *source.action.AsReceive();
  std::vector<const Message *> messages;
  for (const Message &message : table.received(part, command))
    messages.push_back(&message);
  std::span<const uint32_t> here = ranks.of(part);
  std::unique_ptr<Turns> &turns = parts[part].receives[receive.channel];
  if (!turns)
    turns = std::make_unique<Turns>(channels.depth(receive.channel));
  add(parts[part], source, command, *turns, receive.message, {here.begin(), here.end()}, std::move(messages));
}

Outbox &BoundMessages::getOutbox(const plan::PlanT &plan, uint32_t part, uint32_t command,
                                 uint32_t rank) const {
  const plan::CommandT &source = *plan.commands[command];
  const plan::SendT *send = source.action.AsSend();
  std::unique_ptr<Outbox> &outbox =
      send ? sendOutboxes[{part, rank, send->channel, send->message % channels.depth(send->channel)}]
           : outboxes[{part, rank, source.lane, 0}];
  if (!outbox)
    outbox = std::make_unique<Outbox>(endpoint);
  outbox->reserve(table.sent(part, command), rank, /*copies=*/send != nullptr);
  return *outbox;
}

std::vector<Mail> BoundMessages::getMail(const plan::PlanT &plan, uint32_t part, uint32_t command) const {
  std::vector<Mail> mail(ranks.count(part));
  std::span<const Message> sent = table.sent(part, command);
  for (uint32_t rank : ranks.of(part))
    if (std::ranges::find(sent, rank, &Message::holder) != sent.end()) {
      mail[rank].sent = sent;
      mail[rank].outbox = &getOutbox(plan, part, command, rank);
    }
  for (const Readers &readers : parts[part].readers[command])
    for (uint32_t rank : readers.ranks) {
      Inbox &inbox = readers.turns->get(readers.turn, endpoint, uint32_t(readers.ranks.size()));
      mail[rank].inbox = &inbox;
      mail[rank].delivery = &readers.delivery;
      mail[rank].fetched = readers.delivery.in(inbox.data());
    }
  for (const StreamReader &reader : parts[part].streamed[command]) {
    mail[reader.rank].streamed = &reader.messages;
    mail[reader.rank].stream = reader.stream;
  }
  return mail;
}

/// Adds what is known of an open message, if it is of this command.
void BoundMessages::addWaiting(PartCommand place, const OpenMessage &open,
                               std::vector<Waiting> &found) const {
  auto [part, command] = place;
  const plan::CommandT &source = *plans[part]->commands[command];
  bool isReceive = source.action.AsReceive() != nullptr;
  for (const Message &message : open.isSend ? table.sent(part, command) : table.received(part, command)) {
    if (message.process != open.process || message.number != open.number)
      continue;
    uint32_t from = isReceive ? channels.sender(source.action.AsReceive()->channel) : part;
    uint32_t holder = ranks.device(from, message.holder), device = holder;
    for (const Readers &readers : parts[part].readers[command])
      if (!open.isSend && readers.delivery.has(message))
        device = ranks.device(part, readers.ranks.front());
    for (const StreamReader &reader : parts[part].streamed[command])
      if (!open.isSend && std::ranges::find(reader.messages, &message) != reader.messages.end())
        device = ranks.device(part, reader.rank);
    found.push_back({source.name, source.location, !source.guards.empty(), open.isSend, device, holder,
                     open.process, open.bytes});
  }
}

std::vector<Waiting> BoundMessages::waiting() const {
  std::vector<Waiting> found;
  for (const OpenMessage &open : endpoint.state().openMessages())
    for (uint32_t part = 0; part < plans.size(); ++part)
      for (uint32_t command = 0; command < plans[part]->commands.size(); ++command)
        addWaiting({part, command}, open, found);
  return found;
}

} // namespace

std::unique_ptr<BoundCollectives> MessageCollectives::load(const plan::PlanT &plan, const Channels &channels,
                                                           const LocalRanks &ranks, DeviceSet &devices) {
  if (!devices.usesHostMemory())
    throw Error("messages between processes need devices that use the memory of the host");
  return std::make_unique<BoundMessages>(plan, channels, ranks, devices, group->open(),
                                         Processes{group->process(), devicesEach});
}

} // namespace epl::runtime
