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

/// Bytes of a run, on average, from which on a message costs less than a copy.
static constexpr size_t kLeastRun = size_t(16) << 10;

/// Cuts runs where buffers have a multiple of `Message::kMostRun`.
static std::vector<ByteRun> cut(std::span<const ByteRun> runs) {
  std::vector<ByteRun> pieces;
  for (const auto &[buffer, bytes] : runs)
    for (uint64_t begin = bytes.begin; begin < bytes.end;) {
      uint64_t end = std::min(bytes.end, (begin / Message::kMostRun + 1) * Message::kMostRun);
      pieces.push_back({buffer, {begin, end}});
      begin = end;
    }
  return pieces;
}

static Message makeMessage(uint32_t holder, uint32_t process, uint32_t number, std::vector<ByteRun> runs) {
  bool isPacked = runs.size() > 1 && bytesOf(runs) < runs.size() * kLeastRun;
  return {holder, process, number, isPacked ? std::move(runs) : cut(runs), isPacked};
}

MessageTable::MessageTable(const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks,
                           const Processes &processes)
    : channels(channels), ranks(ranks), processes(processes) {
  Counts counts;
  std::vector<const plan::PlanT *> plans = meshPlansOf(plan);
  for (const plan::PlanT *each : plans)
    parts.push_back({std::vector<std::vector<Message>>(each->commands.size()),
                     std::vector<std::vector<Message>>(each->commands.size())});
  for (uint32_t part = 0; part < plans.size(); ++part) {
    Mesh mesh(*plans[part]);
    for (uint32_t command = 0; command < plans[part]->commands.size(); ++command)
      addCollective(*plans[part], mesh, part, command, counts);
  }
  for (uint32_t channel = 0; channel < channels.size(); ++channel)
    addChannel(channel, counts);
}

/// Of what `holder` has the messages to each process with readers, if they begin or end here. `getRuns` says
/// what a reader reads.
template <typename GetRuns>
void MessageTable::add(PartCommand send, PartCommand receive, uint32_t holder,
                       std::span<const uint32_t> readers, const GetRuns &getRuns, Counts &counts) {
  uint32_t from = processes.of(ranks.device(send.part, holder));
  bool isSent = from == processes.own;
  std::map<uint32_t, std::vector<ByteRun>> read; // by process
  for (uint32_t reader : readers)
    if (uint32_t to = processes.of(ranks.device(receive.part, reader));
        isSent ? to != from : to == processes.own)
      std::ranges::copy(getRuns(reader), std::back_inserter(read[to]));
  for (auto &[to, all] : read) {
    if (all.empty())
      continue;
    uint32_t other = isSent ? to : from;
    uint32_t number = isSent ? counts.to[other]++ : counts.from[other]++;
    PartCommand place = isSent ? send : receive;
    Part &part = parts[place.part];
    (isSent ? part.sent : part.received)[place.command].push_back(
        makeMessage(holder, other, number, join(std::move(all))));
  }
}

void MessageTable::addCollective(const plan::PlanT &plan, const Mesh &mesh, uint32_t part, uint32_t command,
                                 Counts &counts) {
  int32_t communicator = plan.lanes[plan.commands[command]->lane]->communicator;
  if (communicator < 0)
    return;
  for (uint32_t holder = 0; holder < mesh.devices(); ++holder) {
    auto getRuns = [&](uint32_t reader) {
      return runsOf(plan, mesh, *plan.commands[command], reader, holder);
    };
    add({part, command}, {part, command}, holder, mesh.members(uint32_t(communicator), holder), getRuns,
        counts);
  }
}

/// What pieces have of the value of `holder`.
static std::vector<ByteRun> runsOf(std::span<const Piece> pieces, uint32_t holder, size_t elementSize) {
  std::vector<ByteRun> runs;
  for (const Piece &piece : pieces)
    if (piece.holder == holder)
      addRuns(runs, /*buffer=*/0, piece.box, elementSize);
  return runs;
}

void MessageTable::addChannel(uint32_t channel, Counts &counts) {
  for (const auto &[send, receive] : channels.messages(channel))
    for (uint32_t holder = 0; holder < ranks.count(send.part); ++holder) {
      auto getRuns = [&](uint32_t listener) {
        return runsOf(channels.pieces(channel, listener), holder, channels.elementSize(channel));
      };
      add(send, receive, holder, channels.listeners(channel, holder), getRuns, counts);
    }
}

} // namespace epl::runtime
