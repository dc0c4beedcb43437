#include "runtime/device/cuda/collectives/Transfers.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/NvidiaLibrary.h"

#include <algorithm>
#include <cassert>
#include <mutex>

namespace epl::runtime::cuda {

/// Where runs and messages begin: any element may, and kernels copy 8 bytes at once there.
static uint64_t align(uint64_t size) { return (size + 15) / 16 * 16; }

//===----------------------------------------------------------------------===//
// Which messages there are
//===----------------------------------------------------------------------===//

Transfers::Transfers(const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks,
                     Communicators &communicators)
    : plans(meshPlansOf(plan)), channels(channels), ranks(ranks), communicators(communicators) {
  for (uint32_t part = 0; part < plans.size(); ++part) {
    meshes.emplace_back(*plans[part]);
    for (uint32_t command = 0; command < plans[part]->commands.size(); ++command)
      if (plans[part]->commands[command]->action.AsReceive())
        addReceive(part, command);
      else
        addCollective(part, command);
  }
  if (useHost)
    hostTransport = communicators.peers().openTransport();
  numberMessages();
}

/// Messages from one process to another one are numbered in an order that both know.
void Transfers::numberMessages() {
  using Ends = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;         // part, command, from, to
  std::map<std::pair<uint32_t, bool>, std::map<Ends, Message *>> messages; // by process and direction
  const Processes &processes = communicators.peers().processes();
  for (Table *table : {&transfers, &sends})
    for (auto &[key, transfer] : *table)
      for (auto *list : {&transfer.sent, &transfer.received})
        for (Message &message : *list) {
          auto [part, command, rank] = key;
          uint32_t other = (*transfer.group)[message.member];
          uint32_t own = ranks.device(table == &sends ? message.part : part, rank);
          message.process = processes.of(other);
          Ends ends = message.isSent ? Ends{part, command, own, other} : Ends{part, command, other, own};
          messages[{message.process, message.isSent}][ends] = &message;
        }
  for (auto &[direction, all] : messages) {
    uint32_t number = 0;
    for (auto &[ends, message] : all)
      message->number = number++;
  }
}

/// `rank`: the one that is here.
Waiting Transfers::describe(PartCommand at, uint32_t rank, const Message &message, size_t bytes) const {
  const plan::CommandT &command = *plans[at.part]->commands[at.command];
  uint32_t holder = ranks.device(message.part, message.holder);
  return {command.name,
          command.location,
          !command.guards.empty(),
          message.isSent,
          message.isSent ? holder : ranks.device(at.part, rank),
          holder,
          message.process,
          bytes};
}

std::vector<Waiting> Transfers::waiting() const {
  std::vector<Waiting> found;
  for (const OpenMessage &open : hostTransport ? hostTransport->openMessages() : std::vector<OpenMessage>())
    for (const Table *table : {&transfers, &sends})
      for (const auto &[key, transfer] : *table)
        for (const Message &message : open.isSend ? transfer.sent : transfer.received)
          if (transfer.isThroughHost && message.process == open.process && message.number == open.number)
            found.push_back(
                describe({std::get<0>(key), std::get<1>(key)}, std::get<2>(key), message, open.bytes));
  return found;
}

const Transfer &Transfers::find(const Table &table, PartCommand command, uint32_t rank) {
  static const Transfer none;
  auto found = table.find({command.part, command.command, rank});
  return found == table.end() ? none : found->second;
}

Group Transfers::devicesOf(uint32_t part, std::span<const uint32_t> members) const {
  Group devices;
  for (uint32_t member : members)
    devices.push_back(ranks.device(part, member));
  return devices;
}

/// Whether messages between the devices of a group are not NCCL's, which is said once.
bool Transfers::goesThroughHost(const Group &group) {
  if (communicators.connects(group))
    return false;
  useHost = true;
  static std::once_flag said;
  if (communicators.peers().processes().own == 0)
    sayOnce(said, "messages between cards of several processes go through memory of the host",
            communicators.hasLibrary()
                ? "NCCL takes one device of each card"
                : "there is no NCCL (the Python package nvidia-nccl-cu13, or its file in EPL_NCCL)");
  return true;
}

void Transfers::addCollective(uint32_t part, uint32_t command) {
  int32_t communicator = plans[part]->lanes[plans[part]->commands[command]->lane]->communicator;
  if (communicator < 0)
    return;
  for (uint32_t rank = 0; rank < meshes[part].devices(); ++rank)
    if (meshes[part].memberIndex(uint32_t(communicator), rank) == 0)
      addGroup(part, command, meshes[part].members(uint32_t(communicator), rank));
}

/// Of the members of one instance of a communicator.
void Transfers::addGroup(uint32_t part, uint32_t command, const std::vector<uint32_t> &members) {
  auto group = std::make_shared<const Group>(devicesOf(part, members));
  const plan::CommandT &source = *plans[part]->commands[command];
  bool crosses = communicators.crossesProcesses(*group);
  bool isThroughHost = crosses && goesThroughHost(*group);
  bool isCall = members.size() > 1 && communicators.connects(*group) &&
                isLibraryCall(*plans[part], meshes[part], source, members.front(), communicators.keepOrder());
  if (!isCall && !crosses)
    return;
  if (!isThroughHost)
    groups.push_back(*group);
  if (!isCall)
    return addMessages(part, command, members, group);
  for (uint32_t rank : members)
    if (isHere(part, rank))
      transfers[{part, command, rank}] = {group, true};
}

/// Puts a message of some runs into a list, unless it is empty.
static void add(Transfer &transfer, std::vector<Message> &list, Message message, std::vector<ByteRun> runs) {
  if (runs.empty())
    return;
  message.offset = transfer.stagingBytes;
  std::ranges::sort(runs, {}, [](const ByteRun &run) { return std::pair(run.buffer, run.bytes.begin); });
  for (const ByteRun &run : runs) {
    message.places.push_back(message.bytes);
    message.bytes = align(message.bytes + run.bytes.end - run.bytes.begin);
  }
  message.runs = std::move(runs);
  transfer.stagingBytes += message.bytes;
  list.push_back(std::move(message));
}

/// Between members of which one is here and the other one is not.
void Transfers::addMessages(uint32_t part, uint32_t command, const std::vector<uint32_t> &members,
                            const std::shared_ptr<const Group> &group) {
  const plan::PlanT &plan = *plans[part];
  for (uint32_t self = 0; self < members.size(); ++self) {
    if (!isHere(part, members[self]))
      continue;
    Transfer &transfer = transfers[{part, command, members[self]}];
    transfer.group = group;
    transfer.isThroughHost = !communicators.connects(*group);
    for (uint32_t other = 0; other < members.size(); ++other) {
      if (isHere(part, members[other]))
        continue;
      auto read = [&](uint32_t reader, uint32_t holder) {
        return runsOf(plan, meshes[part], *plan.commands[command], members[reader], members[holder]);
      };
      add(transfer, transfer.sent, {part, members[self], other, true}, read(other, self));
      add(transfer, transfer.received, {part, members[other], other, false}, read(self, other));
    }
  }
}

/// All devices of both parts form its group.
void Transfers::addReceive(uint32_t part, uint32_t command) {
  const plan::CommandT &source = *plans[part]->commands[command];
  uint32_t channel = source.action.AsReceive()->channel, sender = channels.sender(channel);
  Group devices;
  bool crosses = false;
  for (uint32_t holder = 0; holder < ranks.count(sender); ++holder)
    for (uint32_t listener : channels.listeners(channel, holder)) {
      uint32_t from = ranks.device(sender, holder), to = ranks.device(part, listener);
      devices.insert(devices.end(), {from, to});
      crosses |= communicators.crossesProcesses({from, to});
    }
  if (!crosses)
    return;
  std::ranges::sort(devices);
  devices.erase(std::ranges::unique(devices).begin(), devices.end());
  auto group = std::make_shared<const Group>(std::move(devices));
  if (!goesThroughHost(*group))
    groups.push_back(*group);
  for (uint32_t holder = 0; holder < ranks.count(sender); ++holder)
    for (uint32_t listener : channels.listeners(channel, holder))
      addFetch({part, command}, holder, listener, group);
}

/// What a rank fetches from another one, if one of the two is here.
void Transfers::addFetch(PartCommand receive, uint32_t holder, uint32_t listener,
                         const std::shared_ptr<const Group> &group) {
  uint32_t channel = plans[receive.part]->commands[receive.command]->action.AsReceive()->channel;
  uint32_t sender = channels.sender(channel);
  bool isSent = isHere(sender, holder);
  if (isSent == isHere(receive.part, listener))
    return;
  std::vector<ByteRun> runs;
  for (const Piece &piece : channels.pieces(channel, listener))
    if (piece.holder == holder)
      addRuns(runs, 0, piece.box, channels.elementSize(channel));
  uint32_t device = isSent ? ranks.device(receive.part, listener) : ranks.device(sender, holder);
  auto member = uint32_t(std::ranges::find(*group, device) - group->begin());
  Transfer &transfer = isSent ? sends[{receive.part, receive.command, holder}]
                              : transfers[{receive.part, receive.command, listener}];
  transfer.group = group;
  transfer.isThroughHost = !communicators.connects(*group);
  add(transfer, isSent ? transfer.sent : transfer.received, {sender, holder, member, isSent},
      std::move(runs));
}

//===----------------------------------------------------------------------===//
// Where their bytes are
//===----------------------------------------------------------------------===//

// An address of a rank elsewhere: a bit that no address has, a place, and an offset.
static constexpr unsigned long kElsewhere = 1UL << 63;
static constexpr int kOffsetBits = 44;
static constexpr size_t kMostPlaces = size_t(1) << (63 - kOffsetBits);

unsigned long RemoteAddresses::add(uint32_t part, uint32_t rank, uint32_t buffer) {
  auto [found, isNew] = known.try_emplace({part, rank, buffer}, places.size());
  if (isNew) {
    auto message = std::ranges::find_if(
        received, [&](const Message &each) { return each.part == part && each.holder == rank; });
    places.push_back({buffer, message == received.end() ? nullptr : &*message});
  }
  if (places.size() > kMostPlaces)
    throw Error("it reads more than " + std::to_string(kMostPlaces) + " buffers of other processes");
  return kElsewhere | found->second << kOffsetBits;
}

/// Runs of a message are ascending by buffer and begin.
unsigned long RemoteAddresses::locate(unsigned long address) const {
  if (!(address & kElsewhere))
    return address;
  auto [buffer, message] = places[(address ^ kElsewhere) >> kOffsetBits];
  uint64_t offset = address & ((1UL << kOffsetBits) - 1);
  assert(message && "what a command reads has come");
  auto keyOf = [](const ByteRun &run) { return std::pair(run.buffer, run.bytes.begin); };
  auto behind = std::ranges::upper_bound(message->runs, std::pair(buffer, offset), {}, keyOf);
  assert(behind != message->runs.begin() && "what a command reads has come");
  auto index = size_t(behind - message->runs.begin()) - 1;
  assert(message->runs[index].buffer == buffer && offset < message->runs[index].bytes.end);
  return staging + message->offset + message->places[index] + (offset - message->runs[index].bytes.begin);
}

void RemoteAddresses::locate(Moves &moves) const {
  for (CopyRun &run : moves.copies)
    run.from = locate(run.from);
  for (Sums &sums : moves.sums)
    for (unsigned long &source : sums.sources)
      source = locate(source);
}

std::vector<CopyRun> packsOf(std::span<const Message> sent, CUdeviceptr staging,
                             const std::function<CUdeviceptr(uint32_t buffer)> &addressOf) {
  std::vector<CopyRun> copies;
  for (const Message &message : sent)
    for (size_t i = 0; i < message.runs.size() && message.runs.size() > 1; ++i) {
      const auto &[buffer, bytes] = message.runs[i];
      copies.push_back({staging + message.offset + message.places[i], addressOf(buffer) + bytes.begin,
                        bytes.end - bytes.begin});
    }
  return copies;
}

std::vector<LibraryCall> callsOf(const Transfer &transfer, CUdeviceptr staging,
                                 const std::function<CUdeviceptr(uint32_t buffer)> &addressOf) {
  std::vector<LibraryCall> calls;
  for (const Message &message : transfer.sent) {
    const ByteRun &first = message.runs.front();
    CUdeviceptr from =
        message.runs.size() == 1 ? addressOf(first.buffer) + first.bytes.begin : staging + message.offset;
    calls.push_back({LibraryCall::Kind::send, from, 0, message.size(), nccl::DataType::u8,
                     nccl::Reduction::sum, int(message.member)});
  }
  for (const Message &message : transfer.received)
    calls.push_back({LibraryCall::Kind::receive, 0, staging + message.offset, message.size(),
                     nccl::DataType::u8, nccl::Reduction::sum, int(message.member)});
  return calls;
}

void receiveInPlace(std::vector<LibraryCall> &calls, Moves &moves) {
  for (LibraryCall &call : calls) {
    if (call.kind != LibraryCall::Kind::receive || !moves.sums.empty())
      continue;
    auto isOfCall = [&](const CopyRun &run) {
      return call.to <= run.from && run.from < call.to + call.count;
    };
    auto found = std::ranges::find_if(moves.copies, isOfCall);
    if (found == moves.copies.end() || found->bytes != call.count ||
        std::ranges::count_if(moves.copies, isOfCall) != 1)
      continue;
    call.to = found->to;
    moves.copies.erase(found);
  }
}

} // namespace epl::runtime::cuda
