#include "runtime/servers/logic/ServerLogic.h"

#include "runtime/servers/logic/Text.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace epl::runtime::servers {
namespace {

using namespace server_actions;
constexpr uint64_t never = std::numeric_limits<uint64_t>::max();

Message failureOf(const std::string &text) {
  frames::FailureT failure;
  failure.text = text;
  return failure;
}

} // namespace

ServerLogic::ServerLogic(uint32_t server, Timing timing, Milliseconds now, const GatherServer &gather)
    : server(server), timing(timing), gather(gather), started(now), noticed(now) {
  members.expect(1); // whoever else there is, worker 0 will say
}

/// Whether others go on without a worker that is lost. Of a job that no worker has said anything of nobody
/// does: it ends before it has cost more.
bool ServerLogic::goesOn() const {
  return job() ? !isSync() || job()->manifest.on_lost == manifest::OnLost::go_on : gather.goesOn();
}

ServerLogic::Actions ServerLogic::received(StreamId stream, std::span<const std::byte> head,
                                           const Payload &payload, Milliseconds now) {
  if (ended) {
    if (!ended->empty() && !members.workerOf(stream))
      refuse(stream, *ended); // who comes late waits for nothing
    return take();
  }
  notice(now);
  Decoded decoded = decode(head, payload.size());
  const uint32_t *worker = members.workerOf(stream);
  const std::string *fault = std::get_if<std::string>(&decoded);
  const frames::HelloT *hello = fault ? nullptr : std::get_if<frames::HelloT>(&std::get<Message>(decoded));
  if (worker) {
    uint32_t number = *worker;
    members.at(number).heard = now;
    std::string text =
        fault ? "has sent a frame that " + *fault : take(number, std::get<Message>(decoded), payload);
    if (!text.empty())
      lose(number, text);
  } else if (hello) {
    greet(stream, *hello, now);
  } else {
    refuse(stream,
           fault ? "the first frame of a stream " + *fault : "expected Hello as the first frame of a stream");
  }
  return take();
}

void ServerLogic::refuse(StreamId stream, const std::string &text) {
  out.send(stream, failureOf("server " + std::to_string(server) + ": " + text));
  out.actions.emplace_back(CloseStream{stream});
}

void ServerLogic::greet(StreamId stream, const frames::HelloT &hello, Milliseconds now) {
  std::string text = refusal(hello);
  if (!text.empty())
    refusals.try_emplace(hello.worker, Refusal{text, now});
  else
    text = refusalOfLife(hello);
  if (!text.empty())
    return refuse(stream, text);
  bool another = members.at(hello.worker).life != hello.life || members.at(hello.worker).opened == 0;
  if (another && !beginLife(stream, hello))
    return;
  welcome(stream, hello, now);
}

/// Ends the job if somebody was sent away and nobody of this job has come for him: others would wait in vain.
void ServerLogic::watchRefusals(Milliseconds now) {
  for (const auto &[worker, refusal] : refusals) {
    auto found = std::ranges::find(members, worker, [](const auto &entry) { return entry.first; });
    bool isAwaited = found == members.end() ? !job() : found->second.presence == Presence::awaited;
    if (isAwaited && now > refusal.time + timing.silence)
      return end(refusal.text);
  }
}

std::string ServerLogic::refusal(const frames::HelloT &hello) const {
  Hash128 hash{hello.job_low, hello.job_high};
  if (hello.protocol != protocolVersion)
    return textOf("worker ", hello.worker, " speaks version ", hello.protocol, " of the protocol, expected ",
                  protocolVersion);
  if (hello.server != server)
    return textOf("worker ", hello.worker, " takes this for server ", hello.server,
                  ": its endpoints are in another order, or of another job");
  if (setup && (hello.worker != 0 || setup->complete()) && hash != members.at(0).job)
    return textOf("worker ", hello.worker, " has manifest ", hash.text(), ", expected ",
                  members.at(0).job.text(), " as worker 0: do all run the same script?");
  if (job() && hello.workers != job()->manifest.workers)
    return textOf("worker ", hello.worker, " says that there are ", hello.workers, " workers, expected ",
                  job()->manifest.workers);
  return "";
}

std::string ServerLogic::refusalOfLife(const frames::HelloT &hello) const {
  auto found = std::ranges::find(members, hello.worker, [](const auto &entry) { return entry.first; });
  if (found == members.end() || found->second.opened == 0)
    return "";
  const Member &member = found->second;
  if (hello.life < member.life)
    return textOf("worker ", hello.worker, " has been started again since");
  if (hello.life > member.life)
    return "";
  if (hello.stream <= member.opened)
    return textOf("worker ", hello.worker, " has opened another stream since");
  if (member.presence == Presence::lost && (isSync() || !job()))
    return textOf("worker ", hello.worker,
                  " was lost, and the others have gone on without it; a new one may come");
  return "";
}

/// Ends the life that a worker had. Returns whether there is a job for another one.
bool ServerLogic::beginLife(StreamId stream, const frames::HelloT &hello) {
  Member &member = members.at(hello.worker);
  bool worked = member.opened > 0 && (member.pushed || (hello.worker == 0 && setup && setup->complete()));
  if (worked && member.presence != Presence::gone && (hello.worker == 0 || !goesOn())) {
    std::string text =
        textOf("worker ", hello.worker, " has been started again, and what it was doing is lost");
    refuse(stream, text);
    end(text);
    return false;
  }
  if (hello.worker == 0 && setup && !setup->complete()) {
    setup.reset();
    known = false;
  }
  if (blocks) {
    uint64_t step = blocks->firstOpenStep();
    blocks->dropLife(hello.worker, step);
    member.firstStep = isSync() ? step : 0;
  }
  member.life = hello.life, member.opened = 0, member.task = -1;
  member.pushed = member.begun = false;
  member.endStep = never;
  if (blocks)
    blocks->recheck();
  return true;
}

void ServerLogic::welcome(StreamId stream, const frames::HelloT &hello, Milliseconds now) {
  Member &member = members.at(hello.worker);
  if (member.stream != 0)
    out.actions.emplace_back(CloseStream{member.stream});
  if (blocks)
    blocks->dropStream(hello.worker);
  members.attach(hello.worker, stream);
  refusals.erase(hello.worker);
  member.opened = hello.stream, member.workers = hello.workers;
  member.job = {hello.job_low, hello.job_high};
  member.heard = member.told = now;
  if (member.presence != Presence::gone || !member.begun)
    member.presence = Presence::running;
  if (hello.worker == 0 && !setup) {
    setup.emplace(server, member.job);
    refuseStrangers();
  }
  frames::WelcomeT welcome;
  welcome.server = server, welcome.set_up = setup ? setup->count() : 0, welcome.step = member.firstStep;
  out.send(stream, welcome);
  if (blocks)
    out.send(stream, frames::ReadyT());
}

/// Sends away who has come before worker 0, and is of another job.
void ServerLogic::refuseStrangers() {
  for (auto &[worker, member] : members) {
    bool fits = member.job == members.at(0).job && (!job() || member.workers == job()->manifest.workers);
    if (member.stream == 0 || fits)
      continue;
    std::string text = textOf("worker ", worker, " has manifest ", member.job.text(), " for ", member.workers,
                              " workers, expected ", members.at(0).job.text(), " for ", members.at(0).workers,
                              " as worker 0: do all run the same script?");
    refuse(member.stream, text);
    members.attach(worker, 0);
    member = Member();
    refusals.try_emplace(worker, Refusal{text, noticed});
  }
}

/// Now it is known who else there is.
void ServerLogic::learnJob() {
  known = true;
  refuseStrangers();
  members.expect(job()->manifest.workers);
}

ServerLogic::Actions ServerLogic::loaded(Milliseconds now) {
  if (ended)
    return {};
  blocks = std::make_unique<BlockUpdates>(job(), server, members, out);
  for (auto &[worker, member] : members) {
    member.heard = std::max(member.heard, now); // who runs this may not have listened meanwhile
    out.send(member.stream, frames::ReadyT());
  }
  return take();
}

ServerLogic::Actions ServerLogic::updateEnded(uint32_t block, Milliseconds) {
  if (ended)
    return {};
  blocks->updateEnded(block);
  endIfDone();
  return take();
}

ServerLogic::Actions ServerLogic::taskEnded(uint32_t worker, uint64_t life, const frames::TaskDoneT &done,
                                            Milliseconds) {
  if (ended)
    return {};
  blocks->taskEnded(worker, life, done);
  return take();
}

ServerLogic::Actions ServerLogic::broke(StreamId stream, Milliseconds) {
  const uint32_t *found = members.workerOf(stream);
  if (ended || !found)
    return {};
  uint32_t worker = *found;
  members.attach(worker, 0);
  if (blocks)
    blocks->dropStream(worker);
  return take();
}

/// Time goes on; if this process has stood still, nobody else is to blame.
void ServerLogic::notice(Milliseconds now) {
  Milliseconds still = stoodStill(std::exchange(noticed, now), now, timing);
  started += still;
  for (auto &[worker, member] : members)
    member.heard += still;
}

ServerLogic::Actions ServerLogic::tick(Milliseconds now) {
  if (ended)
    return {};
  notice(now);
  watchRefusals(now);
  watchEarly();
  for (auto it = members.begin(); it != members.end() && !ended; ++it) {
    watch(it->first, it->second, now);
    if (!ended)
      tell(it->first, it->second, now);
  }
  return take();
}

void ServerLogic::watch(uint32_t worker, Member &member, Milliseconds now) {
  if (member.presence == Presence::running && now > member.heard + timing.silence)
    lose(worker, textOf("has been silent for ", seconds(timing.silence), " s"), /*mayReturn=*/true);
  else if (member.presence == Presence::awaited && now > started + timing.arrival &&
           gather.presenceOf(worker) != Presence::running)
    lose(worker, textOf("has not come for ", seconds(timing.arrival), " s"));
}

/// Looks for workers that all-gathers have seen, and that will not begin. If none has wanted a job, and all
/// have left, there is nothing to wait for.
void ServerLogic::watchEarly() {
  bool hasBegun = std::ranges::any_of(members, [](const auto &entry) { return entry.second.begun; });
  if (!hasBegun && !gather.lostServer().empty()) // who has begun sees it himself
    return end(gather.lostServer());
  bool haveLeft = gather.count() > 0;
  for (uint32_t worker = 0; worker < gather.count() && !ended; ++worker) {
    haveLeft &= gather.presenceOf(worker) == Presence::gone;
    if (!gather.absenceOf(worker).empty())
      watchEarly(worker);
  }
  bool areHere = std::ranges::any_of(members, [](const auto &entry) { return entry.second.opened > 0; });
  if (haveLeft && !areHere && !ended) {
    ended.emplace();
    out.actions.emplace_back(EndServer{});
  }
}

/// A worker that all-gathers miss.
void ServerLogic::watchEarly(uint32_t worker) {
  auto found = std::ranges::find(members, worker, [](const auto &entry) { return entry.first; });
  bool isKnown = found != members.end();
  if (!isKnown && job())
    return; // there is no such worker in it
  bool isAwaited = !isKnown || found->second.presence == Presence::awaited;
  bool isStarting = isAwaited || (found->second.presence == Presence::running && !found->second.begun);
  if (gather.presenceOf(worker) == Presence::gone) {
    if (isAwaited)
      leaveEarly(worker);
  } else if (isStarting && (worker == 0 || job() || !goesOn())) {
    lose(worker, gather.absenceOf(worker), /*mayReturn=*/true);
  }
}

/// A worker has ended well and called no step: of a job that there is it has no part. Without worker 0 there
/// will be none.
void ServerLogic::leaveEarly(uint32_t worker) {
  bool areHere = std::ranges::any_of(members, [](const auto &entry) { return entry.second.stream != 0; });
  if (worker == 0 && areHere)
    return end("worker 0 has ended before the first call of a step, and others await what it sends");
  if (worker == 0 || !job())
    return;
  Member &member = members.at(worker);
  member.presence = Presence::gone, member.begun = true;
  member.endStep = 0;
  if (blocks)
    blocks->recheck();
  endIfDone();
}

/// Says that the server is there, and what keeps it from answering.
void ServerLogic::tell(uint32_t worker, Member &member, Milliseconds now) {
  if (member.stream == 0 || now < member.told + timing.heartbeat)
    return;
  member.told = now;
  frames::HeartbeatT heartbeat;
  if (std::optional<BlockUpdates::Delay> delay = blocks ? blocks->delayOf(worker) : std::nullopt) {
    heartbeat.block = delay->block, heartbeat.step = delay->step;
    heartbeat.awaited = delay->awaited;
  }
  out.send(member.stream, heartbeat);
}

/// `why`: for behind "worker 2 ". `mayReturn`: without sync it may go on as it is if it is heard of again.
void ServerLogic::lose(uint32_t worker, const std::string &why, bool mayReturn) {
  std::string text = textOf("worker ", worker, " ", why);
  std::string awaits = blocks ? blocks->awaits(worker) : "";
  if (worker == 0 || !goesOn())
    return end(awaits.empty() ? text : text + ": " + awaits);
  Member &member = members.at(worker);
  if (member.stream != 0 && mayReturn && !isSync())
    out.actions.emplace_back(CloseStream{member.stream});
  else if (member.stream != 0)
    refuse(member.stream, text);
  members.attach(worker, 0);
  if (!job()) {
    member = Member(); // it may be of another job, and who is of this one will come again
    return;
  }
  member.presence = Presence::lost;
  if (blocks) {
    blocks->dropStream(worker);
    blocks->dropLife(worker, never);
    blocks->recheck();
  }
  endIfDone();
}

ServerLogic::Actions ServerLogic::failed(const std::string &error) {
  if (!ended)
    end(error);
  return take();
}

void ServerLogic::end(const std::string &error) {
  ended = error;
  for (auto &[worker, member] : members)
    if (member.stream != 0)
      refuse(member.stream, error);
  out.actions.emplace_back(EndServer{textOf("server ", server, ": ", error)});
}

void ServerLogic::endIfDone() {
  if (ended || !blocks || !members.allEnded() || !blocks->isIdle())
    return;
  ended.emplace();
  out.actions.emplace_back(EndServer{});
}

} // namespace epl::runtime::servers
