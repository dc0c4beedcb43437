#include "runtime/collective/messages/MessageTable.h"

#include <algorithm>

namespace epl::runtime {

/// All bytes that any of these reads, each once.
static std::vector<ByteRun> join(std::vector<ByteRun> runs) {
  std::ranges::sort(runs, {}, [](const ByteRun &run) { return std::pair(run.buffer, run.bytes.begin); });
  std::vector<ByteRun> joined;
  for (const ByteRun &run : runs)
    if (!joined.empty() && joined.back().buffer == run.buffer && run.bytes.begin <= joined.back().bytes.end)
      joined.back().bytes.end = std::max(joined.back().bytes.end, run.bytes.end);
    else
      joined.push_back(run);
  return joined;
}

MessageTable::MessageTable(const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks,
                           const Processes &processes)
    : channels(channels), ranks(ranks), processes(processes) {
  Counts counts;
  std::vector<const plan::PlanT *> plans = meshPlansOf(plan);
  for (const plan::PlanT *each : plans)
    parts.push_back({std::vector<std::vector<Message>>(each->commands.size()),
                     std::vector<std::vector<Message>>(each->commands.size())});
  for (uint32_t part = 0; part < plans.size(); ++part)
    for (uint32_t command = 0; command < plans[part]->commands.size(); ++command)
      addCollective(*plans[part], part, command, counts);
  for (uint32_t channel = 0; channel < channels.size(); ++channel)
    addChannel(channel, counts);
}

void MessageTable::addCollective(const plan::PlanT &plan, uint32_t part, uint32_t command, Counts &counts) {
  int32_t communicator = plan.lanes[plan.commands[command]->lane]->communicator;
  if (communicator < 0)
    return;
  Mesh mesh(plan);
  for (uint32_t holder = 0; holder < mesh.devices(); ++holder) {
    std::vector<uint32_t> readers = mesh.members(uint32_t(communicator), holder);
    std::erase(readers, holder);
    std::vector<std::vector<ByteRun>> runs;
    runs.reserve(readers.size());
    for (uint32_t reader : readers)
      runs.push_back(runsOf(plan, mesh, *plan.commands[command], reader, holder));
    add({part, command}, {part, command}, holder, readers, runs, counts);
  }
}

/// What pieces have of the value of `holder`.
static std::vector<ByteRun> runsOf(std::span<const Piece> pieces, uint32_t holder, size_t elementSize) {
  std::vector<ByteRun> runs;
  for (const Piece &piece : pieces)
    if (piece.holder == holder)
      piece.box.forEachRun([&](int64_t source, int64_t) {
        uint64_t begin = uint64_t(source) * elementSize;
        runs.push_back({0, {begin, begin + uint64_t(piece.box.run) * elementSize}});
      });
  return runs;
}

void MessageTable::addChannel(uint32_t channel, Counts &counts) {
  std::span<const MessageEnds> messages = channels.messages(channel);
  for (const auto &[send, receive] : messages)
    for (uint32_t holder = 0; holder < ranks.count(send.part); ++holder) {
      std::span<const uint32_t> listeners = channels.listeners(channel, holder);
      std::vector<std::vector<ByteRun>> runs;
      for (uint32_t listener : listeners)
        runs.push_back(runsOf(channels.pieces(channel, listener), holder, channels.elementSize(channel)));
      add(send, receive, holder, listeners, runs, counts);
    }
}

/// Of what `holder` has the messages to each process with readers, if they begin or end here.
void MessageTable::add(PartCommand send, PartCommand receive, uint32_t holder,
                       std::span<const uint32_t> readers, const std::vector<std::vector<ByteRun>> &runs,
                       Counts &counts) {
  uint32_t from = processes.of(ranks.device(send.part, holder));
  std::map<uint32_t, std::vector<ByteRun>> read; // by process
  for (size_t i = 0; i < readers.size(); ++i)
    if (uint32_t to = processes.of(ranks.device(receive.part, readers[i])); to != from)
      std::ranges::copy(runs[i], std::back_inserter(read[to]));
  for (auto &[to, all] : read) {
    if (all.empty() || (from != processes.own && to != processes.own))
      continue;
    bool isSent = from == processes.own;
    uint32_t other = isSent ? to : from;
    uint32_t number = isSent ? counts.to[other]++ : counts.from[other]++;
    PartCommand place = isSent ? send : receive;
    Part &part = parts[place.part];
    (isSent ? part.sent : part.received)[place.command].push_back(
        {holder, other, number, join(std::move(all))});
  }
}

} // namespace epl::runtime
