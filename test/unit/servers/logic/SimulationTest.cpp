// Whole jobs on a simulated network. EPL_SIMULATIONS is how many, EPL_SIMULATION the seed of the only one.

#include "test/unit/servers/logic/SimulatedWorker.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers::test {
namespace {

/// Far more than any run takes whose waits all have a bound.
constexpr Milliseconds longest = 300'000;

class Simulation {
public:
  explicit Simulation(const Scenario &scenario)
      : scenario(scenario), network(scenario.seed, scenario.lossRate, scenario.maxDelay), record(scenario) {
    for (uint32_t server = 0; server < scenario.job->manifest.servers; ++server)
      servers.push_back(std::make_unique<SimulatedServer>(server, scenario, network, record));
    for (uint32_t worker = 0; worker < scenario.job->manifest.workers; ++worker)
      startWorker(worker, 1);
    for (const Mishap &mishap : scenario.mishaps)
      network.after(mishap.at, [&, mishap] { happens(mishap); });
  }

  /// Returns which rules were broken.
  std::vector<std::string> run() {
    network.run(longest, [&] { return hasEnded(); });
    // What a process that has ended leaves to others, they may still do.
    if (!hasEnded())
      record.fault("no end: ", whoRuns());
    record.conclude();
    return record.faults;
  }

private:
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

  std::string whoRuns() const {
    std::string text;
    for (uint32_t i = 0; i < servers.size(); ++i)
      if (servers[i]->isAlive() && !servers[i]->hasEnded())
        text += " server " + std::to_string(i);
    for (const auto &[worker, process] : current)
      if (process->isAlive() && !process->hasEnded())
        text += " worker " + std::to_string(worker);
    return text;
  }

  const Scenario &scenario;
  Network network;
  Record record;
  SimulatedWorker::Servers servers;
  std::vector<std::unique_ptr<SimulatedWorker>> workers;
  std::map<uint32_t, SimulatedWorker *> current;
  unsigned starting = 0; ///< new lives to come
};

uint64_t numberFrom(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

void runSeed(uint64_t seed) {
  Scenario scenario = drawScenario(seed);
  EXPECT_THAT(Simulation(scenario).run(), testing::ElementsAre()) << scenario.text();
}

TEST(Simulation, KeepsAllRules) {
  if (std::getenv("EPL_SIMULATION"))
    return runSeed(numberFrom("EPL_SIMULATION", 0));
  for (uint64_t seed = 0, count = numberFrom("EPL_SIMULATIONS", 500); seed < count; ++seed) {
    runSeed(seed);
    if (HasFailure())
      break;
  }
}

} // namespace
} // namespace epl::runtime::servers::test
