// Whole jobs on a simulated network. EPL_SIMULATIONS is how many, EPL_SIMULATION the seed of the only one.

#include "test/unit/servers/Manifests.h"
#include "test/unit/servers/logic/Seeds.h"
#include "test/unit/servers/logic/SimulatedWorker.h"
#include "test/unit/servers/protocol/Messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace epl::runtime::servers::test {
namespace {

/// Far more than any run takes whose waits all have a bound.
constexpr Milliseconds longest = 300'000;
/// Within which others end once a process is lost that one of them has seen.
constexpr Milliseconds shortly = 5000;

class Simulation {
public:
  explicit Simulation(const Scenario &scenario)
      : scenario(scenario), network(scenario.seed, scenario.lossRate, scenario.maxDelay), record(scenario) {
    for (uint32_t server = 0; server < scenario.job->manifest.servers; ++server)
      servers.push_back(std::make_unique<SimulatedServer>(server, scenario, network, record));
    for (uint32_t worker = 0; worker < scenario.job->manifest.workers; ++worker)
      startWorker(worker, 1);
    for (const Mishap &mishap : scenario.mishaps)
      if (!mishap.frame)
        network.after(mishap.at, [&, mishap] { happens(mishap); });
    network.watch = [this](Process &process, bool isSent, const NetworkFrame &frame) {
      if (Decoded decoded = decode(frame.head, frame.payload.size()); !frame.head.empty())
        noticeFrame(process, isSent, messageName(std::get<Message>(decoded)));
    };
  }

  /// Returns which rules were broken: who is lost ends all others soon, before the job has begun, too.
  std::vector<std::string> run() {
    network.run(longest, [&] { return hasEnded(); });
    // What a process that has ended leaves to others, they may still do.
    if (!hasEnded())
      record.fault("no end: ", whoRuns());
    record.conclude();
    return record.faults;
  }

  /// Whether all mishaps have happened, whose frames may never have come.
  bool isSpoiled() const { return numHappened == scenario.mishaps.size(); }

private:
  void noticeFrame(Process &process, bool isSent, const std::string &kind) {
    for (size_t i = 0; i < scenario.mishaps.size(); ++i) {
      const Mishap &mishap = scenario.mishaps[i];
      if (mishap.frame && &processOf(mishap) == &process && mishap.frame->isSent == isSent &&
          mishap.frame->kind == kind && ++seen[i] == mishap.frame->number)
        happens(mishap);
    }
  }

  void startWorker(uint32_t worker, uint64_t life) {
    workers.push_back(std::make_unique<SimulatedWorker>(worker, life, scenario, network, record, servers));
    current[worker] = workers.back().get();
  }

  Process &processOf(const Mishap &mishap) {
    return mishap.ofServer ? static_cast<Process &>(*servers[mishap.number]) : *current[mishap.number];
  }

  bool isOver(const Mishap &mishap) {
    return mishap.ofServer ? servers[mishap.number]->hasEnded() : current[mishap.number]->hasEnded();
  }

  void happens(const Mishap &mishap) {
    Process &process = processOf(mishap);
    if (!process.isAlive() || isOver(mishap))
      return;
    ++numHappened;
    if (scenario.mustEnd() && scenario.lossRate == 0 && isKnown(mishap))
      network.after(shortly, [this] { checkEnds(); });
    if (mishap.kind == Mishap::Kind::stopped)
      return network.stop(process, mishap.length);
    network.kill(process, mishap.kind == Mishap::Kind::vanished);
    if (mishap.ofServer || mishap.length == 0)
      return;
    ++starting;
    network.after(mishap.length, [this, mishap] {
      --starting;
      startWorker(mishap.number, current[mishap.number]->life() + 1);
    });
  }

  bool hasEnded() const {
    auto isOver = [](const auto &process) { return !process->isAlive() || process->hasEnded(); };
    return starting == 0 && std::ranges::all_of(servers, isOver) && std::ranges::all_of(workers, isOver);
  }

  /// Whether another process has seen it.
  bool isKnown(const Mishap &mishap) const {
    auto knows = [&](const auto &other) { return other->isAlive() && other->knows(mishap.number); };
    return mishap.ofServer ? std::ranges::any_of(workers, knows) : std::ranges::any_of(servers, knows);
  }

  void checkEnds() {
    if (std::string late = whoRuns(); !late.empty())
      record.fault("has not ended ", shortly, " ms after a loss:", late);
  }

  template <typename Simulated> bool runs(const Simulated &process) const {
    return process.isAlive() && !process.hasEnded() && !network.standsStill(process);
  }

  std::string whoRuns() const {
    std::string text;
    for (uint32_t i = 0; i < servers.size(); ++i)
      if (runs(*servers[i]))
        text += " server " + std::to_string(i);
    for (const auto &[worker, process] : current)
      if (runs(*process))
        text += " worker " + std::to_string(worker);
    return text;
  }

  const Scenario &scenario;
  Network network;
  Record record;
  SimulatedWorker::Servers servers;
  std::vector<std::unique_ptr<SimulatedWorker>> workers;
  std::map<uint32_t, SimulatedWorker *> current;
  unsigned starting = 0;           ///< new lives to come
  std::map<size_t, unsigned> seen; ///< frames of a mishap's kind
  size_t numHappened = 0;
};

void runSeed(uint64_t seed) {
  Scenario scenario = drawScenario(seed);
  EXPECT_THAT(Simulation(scenario).run(), testing::ElementsAre()) << scenario.text();
}

TEST(Simulation, KeepsAllRules) { forEachSeed(runSeed); }

/// Two servers and three workers, of which one comes to grief.
Scenario makeScenario(manifest::Mode mode, manifest::OnLost onLost, const Mishap &mishap) {
  Scenario scenario;
  scenario.seed = mishap.frame->number;
  manifest::ManifestT manifest =
      makeManifest({{"a", {9}}, {"b", {4}}}, {.servers = 2, .minBlockSize = 3}, mode, /*workers=*/3);
  manifest.on_lost = onLost;
  addTable(manifest, "t", 2);
  scenario.bytes = serializeManifest(manifest);
  scenario.job = std::make_shared<Job>(std::move(manifest));
  scenario.steps = {4, 4, 4};
  scenario.timing.deadline = 8000, scenario.timing.arrival = 20000;
  scenario.maxCompile = mishap.frame->number == 1 ? 0 : 2000;
  scenario.mishaps.push_back(mishap);
  return scenario;
}

/// The kinds of frames at which something has happened, as text.
using Kinds = std::set<std::string>;

/// Has each kind of process end, or stand still, at each kind of frame.
void endAtFrames(manifest::Mode mode, manifest::OnLost onLost, Kinds &kinds) {
  for (auto kind : {Mishap::Kind::killed, Mishap::Kind::vanished, Mishap::Kind::stopped})
    for (auto [ofServer, process] : {std::pair(false, 0U), {false, 1U}, {true, 0U}, {true, 1U}})
      for (bool isSent : {true, false})
        for (const Example &example : exampleMessages())
          for (unsigned number : {1U, 3U}) {
            Mishap mishap{kind, ofServer, process, 0, kind == Mishap::Kind::stopped ? Milliseconds(9000) : 0};
            mishap.frame = {isSent, messageName(example.message), number};
            Scenario scenario = makeScenario(mode, onLost, mishap);
            Simulation simulation(scenario);
            EXPECT_THAT(simulation.run(), testing::ElementsAre()) << scenario.text();
            if (simulation.isSpoiled())
              kinds.insert((ofServer == isSent ? "to workers: " : "to servers: ") + mishap.frame->kind);
          }
}

TEST(Simulation, EndsAtWhateverFrameAProcessEnds) {
  Kinds kinds;
  endAtFrames(manifest::Mode::sync, manifest::OnLost::end_job, kinds);
  endAtFrames(manifest::Mode::sync, manifest::OnLost::go_on, kinds);
  endAtFrames(manifest::Mode::async, manifest::OnLost::end_job, kinds);
  EXPECT_THAT(kinds,
              testing::IsSupersetOf({"to servers: Join", "to workers: Joined", "to servers: Hello",
                                     "to servers: Setup", "to servers: Begin", "to servers: PullRequest",
                                     "to servers: PullRows", "to servers: Push", "to servers: Fetch",
                                     "to servers: Goodbye", "to workers: Welcome", "to workers: Ready",
                                     "to workers: Value", "to workers: Acknowledge", "to workers: Goodbye"}));
}

} // namespace
} // namespace epl::runtime::servers::test
