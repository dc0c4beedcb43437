#include "runtime/servers/logic/GatherServer.h"

#include "runtime/servers/logic/Text.h"

#include <algorithm>
#include <utility>

namespace epl::runtime::servers {

using namespace gather_actions;

std::string GatherServer::refusal(const frames::JoinT &join) const {
  if (join.protocol != protocolVersion)
    return textOf("worker ", join.worker, " speaks version ", join.protocol, " of the protocol, expected ",
                  protocolVersion);
  if (!members.empty() && join.workers != members.size())
    return textOf("worker ", join.worker, " says that there are ", join.workers, " workers, expected ",
                  members.size());
  return "";
}

void GatherServer::refuse(StreamId stream, const std::string &text) {
  frames::FailureT failure;
  failure.text = text;
  actions.emplace_back(SendFrame{stream, encode(failure)});
  actions.emplace_back(CloseStream{stream, /*atOnce=*/false});
}

GatherServer::Actions GatherServer::join(StreamId stream, const frames::JoinT &join, Milliseconds now) {
  if (std::string text = ended && !ended->empty() ? *ended : refusal(join); !text.empty() || ended) {
    refuse(stream, text.empty() ? "the server has ended" : text);
    return take();
  }
  if (members.empty()) {
    members.resize(join.workers);
    started = noticed = now;
  }
  notice(now);
  Worker &worker = members[join.worker];
  if (join.life < worker.life || (join.life == worker.life && join.stream <= worker.opened)) {
    actions.emplace_back(CloseStream{stream, /*atOnce=*/true}); // of before
    return take();
  }
  detach(worker);
  if (join.life > worker.life) {
    bool isFirst = worker.presence == Presence::awaited; // what has been given so far is kept for it
    worker = Worker();
    worker.life = join.life, worker.next = isFirst ? 0 : open;
    if (auto round = rounds.find(open); round != rounds.end())
      round->second.parts[join.worker] = nullptr;
  }
  worker.presence = Presence::running, worker.absence.clear();
  worker.opened = join.stream, worker.stream = stream;
  worker.heard = worker.told = now;
  workers[stream] = join.worker;
  frames::JoinedT joined;
  joined.first = worker.next;
  actions.emplace_back(SendFrame{stream, encode(joined)});
  return take();
}

void GatherServer::detach(Worker &worker) {
  if (worker.stream == 0)
    return;
  actions.emplace_back(CloseStream{worker.stream, /*atOnce=*/true});
  workers.erase(std::exchange(worker.stream, 0));
}

GatherServer::Actions GatherServer::received(StreamId stream, std::span<const std::byte> head,
                                             const Payload &payload, Milliseconds now) {
  notice(now);
  uint32_t number = workers.at(stream);
  Worker &worker = members[number];
  worker.heard = now;
  if (worker.presence == Presence::lost) // it had stood still
    worker.presence = Presence::running, worker.absence.clear();
  Decoded decoded = decode(head, payload.size());
  std::string fault;
  if (auto *text = std::get_if<std::string>(&decoded))
    fault = "has sent a frame that " + *text;
  else if (auto *share = std::get_if<frames::ShareT>(&std::get<Message>(decoded)))
    fault = takeShare(number, *share, payload);
  else if (auto *heartbeat = std::get_if<frames::HeartbeatT>(&std::get<Message>(decoded)))
    going |= heartbeat->goes_on;
  else if (auto *failure = std::get_if<frames::FailureT>(&std::get<Message>(decoded)))
    leave(number, *failure);
  else
    fault = textOf("has sent ", messageName(std::get<Message>(decoded)),
                   ", which has no place among all-gathers");
  if (!fault.empty()) {
    refuse(stream, textOf("worker ", number, " ", fault));
    workers.erase(std::exchange(worker.stream, 0));
    lose(number, Presence::lost, fault);
  }
  return take();
}

/// What comes again, on another stream, is answered again.
std::string GatherServer::takeShare(uint32_t number, const frames::ShareT &share, const Payload &payload) {
  Worker &worker = members[number];
  bool isRepeated = share.number + 1 == worker.next;
  if ((share.number != worker.next && !isRepeated) || share.number > open)
    return textOf("gives to round ", share.number, ", expected ", std::min(worker.next, open));
  if (share.offset == 0)
    worker.coming.resize(share.total);
  if (share.from >= int32_t(members.size()))
    return textOf("wants what worker ", share.from, " gives, expected one below ", members.size());
  if (std::string fault =
          worker.order.accept({share.offset, payload.size()}, share.total, worker.coming.size());
      !fault.empty())
    return "gives what " + fault;
  payload.copyTo(std::span(worker.coming).subspan(share.offset));
  if (!worker.order.complete())
    return "";
  if (!isRepeated)
    give(number, share);
  else if (share.number < open)
    answer(worker, share.number);
  return "";
}

void GatherServer::give(uint32_t number, const frames::ShareT &share) {
  Worker &worker = members[number];
  uint64_t own = worker.next++;
  auto bytes = std::make_shared<const std::vector<std::byte>>(std::exchange(worker.coming, {}));
  if (own == open)
    rounds.try_emplace(own, Round{share.what, share.from, std::vector<SharedBytes>(members.size()), ""});
  auto found = rounds.find(own);
  std::string error = found == rounds.end() ? "" : differenceOf(found->second, number, share);
  if (own < open) // the others have gone on
    return error.empty() ? answer(worker, own) : tellFailure(worker, own, error);
  if (!error.empty())
    return fail(error);
  found->second.parts[number] = std::move(bytes);
  settle();
}

/// That a worker gives for something else than others have; empty if it does not.
std::string GatherServer::differenceOf(const Round &round, uint32_t number, const frames::ShareT &share) {
  if (!round.error.empty() || (share.what == round.what && share.from == round.from))
    return "";
  auto first = std::ranges::find_if(round.parts, [](const SharedBytes &part) { return part != nullptr; });
  return textOf("worker ", number, " is at ", share.what, ", worker ", first - round.parts.begin(), " at ",
                round.what, "; expected the same of all");
}

bool GatherServer::wants(const Round &round, uint32_t number) const {
  return round.from < 0 || uint32_t(round.from) == number;
}

/// Ends the open round if it is complete, or lacks somebody for whom nobody need wait.
void GatherServer::settle() {
  auto found = rounds.find(open);
  if (found == rounds.end())
    return;
  const Round &round = found->second;
  bool isComplete = true;
  for (uint32_t number = 0; number < members.size(); ++number) {
    if (!wants(round, number) || round.parts[number])
      continue;
    if (!members[number].absence.empty())
      return fail(textOf("worker ", number, " ", members[number].absence, ": ", round.what, " awaits it"));
    isComplete = false;
  }
  if (isComplete)
    close();
}

void GatherServer::fail(const std::string &error) {
  rounds[open].error = error;
  close();
}

void GatherServer::close() {
  uint64_t round = open++;
  uint64_t least = open;
  for (Worker &worker : members) {
    if (worker.next > round)
      answer(worker, round);
    if (worker.presence == Presence::running || worker.presence == Presence::awaited)
      least = std::min(least, worker.next);
  }
  // The last one that a worker has given to may have to be answered again.
  rounds.erase(rounds.begin(), rounds.lower_bound(least == 0 ? 0 : least - 1));
}

void GatherServer::tellFailure(Worker &worker, uint64_t round, const std::string &text) {
  frames::ShareFailedT failed;
  failed.number = round, failed.text = text;
  if (worker.stream != 0)
    actions.emplace_back(SendFrame{worker.stream, encode(failed)});
}

void GatherServer::answer(Worker &worker, uint64_t number) {
  if (worker.stream == 0)
    return;
  auto found = rounds.find(number);
  if (found == rounds.end())
    return tellFailure(worker, number, "the other workers have gone on without this one");
  if (!found->second.error.empty())
    return tellFailure(worker, number, found->second.error);
  for (uint32_t giver = 0; giver < members.size(); ++giver) {
    if (!wants(found->second, giver))
      continue;
    frames::SharedT shared;
    shared.number = number, shared.worker = giver;
    actions.emplace_back(SendBytes{worker.stream, shared, found->second.parts[giver]});
  }
}

GatherServer::Actions GatherServer::broke(StreamId stream, const std::string &why) {
  auto found = workers.find(stream);
  if (found == workers.end())
    return {};
  uint32_t number = found->second;
  workers.erase(found);
  members[number].stream = 0;
  if (why.empty()) // the worker is done
    lose(number, Presence::gone, "has ended");
  return take();
}

/// The worker has come to an error, and closes its stream.
void GatherServer::leave(uint32_t number, const frames::FailureT &failure) {
  StreamId stream = std::exchange(members[number].stream, 0);
  actions.emplace_back(CloseStream{stream, /*atOnce=*/false});
  workers.erase(stream);
  if (failure.of_server && missing.empty())
    missing = textOf("worker ", number, " has failed: ", failure.text);
  lose(number, Presence::lost, "has failed: " + failure.text);
}

/// `absence`: for behind "worker 2 ".
void GatherServer::lose(uint32_t number, Presence presence, const std::string &absence) {
  members[number].presence = presence;
  members[number].absence = absence;
  settle();
}

/// Time goes on; if this process has stood still, nobody else is to blame.
void GatherServer::notice(Milliseconds now) {
  Milliseconds still = stoodStill(std::exchange(noticed, now), now, timing);
  started += still;
  for (Worker &worker : members)
    worker.heard += still;
}

GatherServer::Actions GatherServer::tick(Milliseconds now) {
  if (members.empty() || ended)
    return {};
  notice(now);
  for (uint32_t number = 0; number < members.size(); ++number) {
    Worker &worker = members[number];
    if (worker.presence == Presence::running && now > worker.heard + timing.silence)
      lose(number, Presence::lost, textOf("has been silent for ", seconds(timing.silence), " s"));
    else if (worker.presence == Presence::awaited && now > started + timing.arrival)
      lose(number, Presence::lost, textOf("has not come for ", seconds(timing.arrival), " s"));
    if (worker.stream != 0 && now >= worker.told + timing.heartbeat) {
      worker.told = now;
      actions.emplace_back(SendFrame{worker.stream, encode(frames::HeartbeatT())});
    }
  }
  return take();
}

GatherServer::Actions GatherServer::end(const std::string &error) {
  ended = error;
  for (Worker &worker : members) {
    if (worker.stream == 0)
      continue;
    workers.erase(worker.stream);
    refuse(std::exchange(worker.stream, 0), error.empty() ? "the server has ended" : error);
  }
  return take();
}

} // namespace epl::runtime::servers
