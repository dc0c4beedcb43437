#include "test/unit/servers/logic/Scenario.h"

#include "test/unit/servers/Manifests.h"

#include <algorithm>
#include <random>
#include <sstream>

namespace epl::runtime::servers::test {
namespace {

class Draw {
public:
  explicit Draw(uint64_t seed) : random(seed) { scenario.seed = seed; }

  Scenario run() {
    drawJob();
    uint64_t most = isLarge ? 3 : 1 + random() % 12;
    bool even = random() % 2;
    for (uint32_t worker = 0; worker < workers; ++worker)
      scenario.steps.push_back(even ? most : random() % (most + 1));
    scenario.merge = random() % 2 ? Merge::sum : Merge::mean;
    scenario.maxMerge = uint32_t(1 + random() % 4);
    const double lossRates[] = {0, 0, 0.001, 0.01};
    scenario.lossRate = isLarge ? 0.0005 : lossRates[random() % 4];
    scenario.maxDelay = random() % 2 ? 5 : 60;
    scenario.maxWork = random() % 2 ? 5 : 100;
    scenario.timing.deadline = 8000, scenario.timing.arrival = 20000;
    // Some take longer than requests may wait, with all retries.
    scenario.maxTask = scenario.seed % 8 == 3 ? 10 * scenario.timing.deadline : scenario.maxWork;
    for (unsigned count = random() % 5 < 3 ? 0 : 1 + random() % 3; count > 0; --count)
      drawMishap();
    scenario.maxCompile = random() % 2 ? 0 : 4000;
    return std::move(scenario);
  }

private:
  void drawJob() {
    isLarge = scenario.seed % 40 == 7;
    uint32_t servers = isLarge ? 20 : uint32_t(1 + random() % 4);
    workers = isLarge ? 50 : uint32_t(1 + random() % 6);
    std::vector<Variable> variables;
    for (uint64_t i = 0, count = random() % 4; i <= count; ++i)
      variables.push_back({"w" + std::to_string(i), {int64_t(1 + random() % 24)}, random() % 4 != 0});
    auto mode = manifest::Mode(random() % 2 ? 0 : random() % 5);
    manifest::ManifestT manifest =
        makeManifest(variables, {.servers = servers, .minBlockSize = 3}, mode, workers);
    manifest.on_lost = manifest::OnLost(random() % 2);
    bool mayHaveTables = mode != manifest::Mode::dc_asgd && mode != manifest::Mode::geo;
    for (uint64_t i = 0, count = mayHaveTables ? random() % 3 : 0; i < count; ++i)
      addTable(manifest, "t" + std::to_string(i), 1 + random() % 3);
    scenario.bytes = serializeManifest(manifest);
    scenario.job = std::make_shared<Job>(std::move(manifest));
  }

  void drawMishap() {
    Mishap mishap;
    mishap.kind = Mishap::Kind(random() % 3);
    mishap.ofServer = random() % 8 == 0;
    mishap.number = uint32_t(random() % (mishap.ofServer ? scenario.job->manifest.servers : workers));
    mishap.at = random() % 3000;
    mishap.length = mishap.kind == Mishap::Kind::stopped ? 200 + random() % 9000
                    : random() % 2                       ? 100 + random() % 6000
                                                         : 0;
    scenario.mishaps.push_back(mishap);
  }

  Scenario scenario;
  std::mt19937_64 random;
  bool isLarge = false;
  uint32_t workers = 0;
};

} // namespace

Scenario drawScenario(uint64_t seed) { return Draw(seed).run(); }

bool Scenario::goesOn() const {
  bool without = !isSync() || job->manifest.on_lost == manifest::OnLost::go_on;
  return std::ranges::all_of(mishaps, [&](const Mishap &mishap) {
    bool isShort = mishap.kind == Mishap::Kind::stopped && mishap.length < timing.silence / 3;
    return isShort || (without && !mishap.ofServer && mishap.number != 0);
  });
}

bool Scenario::mustEnd() const {
  if (mishaps.size() != 1 || goesOn())
    return false;
  const Mishap &mishap = mishaps.front();
  return mishap.kind == Mishap::Kind::stopped ? mishap.length > 2 * timing.silence : mishap.length == 0;
}

std::string Scenario::text() const {
  std::ostringstream text;
  text << "seed " << seed << ": " << manifest::EnumNameMode(job->manifest.mode) << ", "
       << manifest::EnumNameOnLost(job->manifest.on_lost) << ", " << job->manifest.servers << " servers, "
       << job->manifest.workers << " workers, " << job->blocks.size() << " blocks, "
       << job->manifest.tables.size() << " tables, losses " << lossRate << ", compiles for " << maxCompile
       << ", steps";
  for (uint64_t count : steps)
    text << " " << count;
  for (const Mishap &mishap : mishaps)
    text << "; " << (mishap.ofServer ? "server " : "worker ") << mishap.number
         << (mishap.kind == Mishap::Kind::killed     ? " killed"
             : mishap.kind == Mishap::Kind::vanished ? " vanishes"
                                                     : " stopped")
         << " at " << mishap.at << " for " << mishap.length;
  for (const Mishap &mishap : mishaps)
    if (mishap.frame)
      text << (mishap.frame->isSent ? ", having sent " : ", before it gets ") << mishap.frame->kind << " "
           << mishap.frame->number;
  return text.str();
}

} // namespace epl::runtime::servers::test
