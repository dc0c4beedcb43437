// All-gathers of workers that are killed, vanish, stand still and come again, drawn from seeds.
// EPL_SIMULATIONS is how many, EPL_SIMULATION the seed of the only one.

#include "test/unit/servers/logic/Seeds.h"
#include "test/unit/servers/logic/SimulatedGather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace epl::runtime::servers::test {
namespace {

/// Far more than any run takes: who does not come is awaited for 180 s, by each round.
constexpr Milliseconds longest = 4'000'000;

class Gathers {
public:
  explicit Gathers(uint64_t seed)
      : seed(seed), random(seed), isLarge(seed % 40 == 7), count(isLarge ? 50 : uint32_t(1 + random() % 6)),
        rounds(isLarge ? 3 : 1 + random() % 10), network(seed, drawLossRate(), random() % 2 ? 5 : 60),
        server(network) {
    for (uint32_t number = 0; number < count; ++number)
      start(number, 1);
    for (unsigned mishaps = random() % 5 < 3 ? 0 : 1 + random() % 3; mishaps > 0; --mishaps)
      drawMishap();
  }

  void run() {
    network.run(longest, [this] { return isOver(); });
    EXPECT_TRUE(isOver()) << "no end: " << text.str();
    for (const auto &worker : lives)
      check(*worker);
  }

private:
  double drawLossRate() {
    const double rates[] = {0, 0, 0.001, 0.01};
    double rate = isLarge ? 0.0005 : rates[random() % 4];
    text << "seed " << seed << ": " << count << " workers, " << rounds << " rounds, losses " << rate;
    return rate;
  }

  void start(uint32_t number, uint64_t life) {
    lives.push_back(std::make_unique<Sharer>(network, server, number, count, rounds, life));
    Sharer &worker = *lives.back();
    worker.from = [this](uint64_t round) { return fromOf(round); };
    worker.leaves = true;
    current[number] = &worker;
  }

  /// Of some rounds one worker's part alone is wanted.
  int32_t fromOf(uint64_t round) const { return (seed + round) % 3 ? -1 : int32_t((seed + round) % count); }

  void drawMishap() {
    spoiled = true;
    bool ofServer = random() % 8 == 0;
    auto number = uint32_t(random() % count);
    unsigned kind = random() % 3;
    Milliseconds at = random() % 3000;
    Milliseconds length = kind == 2 ? 200 + random() % 9000 : random() % 2 ? 100 + random() % 6000 : 0;
    const char *kinds[] = {" killed", " vanishes", " stopped"};
    text << "; " << (ofServer ? "server" : "worker " + std::to_string(number)) << kinds[kind] << " at " << at
         << " for " << length;
    network.after(at, [=, this] { happen(ofServer, number, kind, length); });
  }

  void happen(bool ofServer, uint32_t number, unsigned kind, Milliseconds length) {
    Process &process = ofServer ? static_cast<Process &>(server) : *current.at(number);
    if (!process.isAlive())
      return;
    if (kind == 2)
      return network.stop(process, length);
    network.kill(process, /*silently=*/kind == 1);
    if (ofServer || length == 0)
      return;
    ++starting;
    network.after(length, [=, this] {
      --starting;
      start(number, current.at(number)->life() + 1);
    });
  }

  bool isOver() const {
    return starting == 0 && std::ranges::all_of(lives, [](const auto &worker) {
             return !worker->isAlive() || worker->isOver();
           });
  }

  std::string expectedOf(uint64_t round) const {
    std::string all;
    for (uint32_t number = 0; number < count; ++number)
      if (int32_t from = fromOf(round); from < 0 || number == uint32_t(from))
        all += (all.empty() ? "" : " ") + std::to_string(number) + "/" + std::to_string(round);
    return all;
  }

  /// Each round is complete, or its error names somebody; where nothing goes wrong all are complete.
  void check(const Sharer &worker) {
    for (uint64_t i = 0; i < worker.came.size(); ++i) {
      uint64_t round = worker.first() + i;
      if (worker.came[i] == expectedOf(round))
        continue;
      EXPECT_TRUE(spoiled) << "round " << round << ": " << worker.came[i] << "\n" << text.str();
      EXPECT_THAT(worker.came[i], testing::AnyOf(testing::HasSubstr("worker "),
                                                 testing::HasSubstr("the other workers have gone on")))
          << text.str();
    }
    if (!worker.isAlive() || worker.came.size() == rounds)
      return;
    EXPECT_TRUE(spoiled) << worker.error() << "\n" << text.str();
    EXPECT_THAT(worker.error(), testing::AnyOf(testing::HasSubstr("server 0"), testing::HasSubstr("worker ")))
        << text.str();
  }

  uint64_t seed;
  std::mt19937_64 random;
  std::ostringstream text; ///< what is drawn
  bool isLarge;
  uint32_t count;
  uint64_t rounds;
  Network network;
  GatheringServer server;
  std::vector<std::unique_ptr<Sharer>> lives;
  std::map<uint32_t, Sharer *> current;
  unsigned starting = 0; ///< new lives to come
  bool spoiled = false;
};

TEST(Simulation, OfGathersKeepsAllRules) {
  forEachSeed([](uint64_t seed) { Gathers(seed).run(); });
}

} // namespace
} // namespace epl::runtime::servers::test
