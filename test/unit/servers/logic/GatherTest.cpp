// All-gathers: the two state machines over a simulated network, where streams break and processes stand
// still.

#include "test/unit/servers/logic/SimulatedGather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A server and workers that give to some rounds.
struct Job {
  Job(uint64_t seed, uint32_t count, uint64_t rounds, double lossRate = 0)
      : network(seed, lossRate, /*maxDelay=*/50), server(network), rounds(rounds) {
    for (uint32_t number = 0; number < count; ++number)
      workers.push_back(std::make_unique<Sharer>(network, server, number, count, rounds));
  }

  /// Until these, or all, are over; whether they are.
  bool run(const std::vector<uint32_t> &which, Milliseconds most = 400'000) {
    auto isOver = [&] {
      return std::ranges::all_of(which, [&](uint32_t number) { return workers[number]->isOver(); });
    };
    network.run(network.now() + most, isOver);
    return isOver();
  }

  Network network;
  GatheringServer server;
  uint64_t rounds;
  std::vector<std::unique_ptr<Sharer>> workers;
};

TEST(Gather, GivesAllWhatEachHasGiven) {
  Job job(1, 3, 2);
  ASSERT_TRUE(job.run({0, 1, 2}));
  for (const auto &worker : job.workers)
    EXPECT_THAT(worker->came, ElementsAre("0/0 1/0 2/0", "0/1 1/1 2/1"));
}

/// Each by itself: who stands still while a stream breaks may well be lost.
TEST(Gather, SurvivesStreamsThatBreakAndProcessesThatStandStill) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    uint32_t count = uint32_t(1 + seed % 5);
    Job job(seed, count, 10, /*lossRate=*/seed % 3 == 2 ? 0.02 : 0);
    std::vector<uint32_t> all;
    for (uint32_t number = 0; number < count; ++number)
      all.push_back(number);
    if (seed % 3 == 0)
      job.network.after(3000, [&] { job.network.stop(job.server, 2000); });
    if (seed % 3 == 1)
      job.network.after(3000, [&] { job.network.stop(*job.workers.back(), 2000); });
    ASSERT_TRUE(job.run(all)) << seed;
    for (const auto &worker : job.workers) {
      ASSERT_EQ(worker->error(), "") << seed;
      for (uint64_t round = 0; round < 10; ++round) {
        std::string expected;
        for (uint32_t number : all)
          expected += (number ? " " : "") + std::to_string(number) + "/" + std::to_string(round);
        ASSERT_EQ(worker->came[round], expected) << seed;
      }
    }
  }
}

TEST(Gather, FailsForAWorkerThatIsLost) {
  Job job(1, 3, 1000);
  job.network.after(3000, [&] { job.network.kill(*job.workers[2], /*silently=*/true); });
  job.run({0, 1}, 10'000);
  for (uint32_t number : {0, 1}) {
    const std::vector<std::string> &came = job.workers[number]->came;
    ASSERT_GT(came.size(), 2u);
    EXPECT_EQ(came.front(), "0/0 1/0 2/0");
    EXPECT_EQ(came.back(), "worker 2 has been silent for 3 s: a sum awaits it");
  }
}

TEST(Gather, FailsForAWorkerThatHasEnded) {
  Job job(1, 2, 1000);
  job.network.after(3000, [&] { job.workers[1]->leave(); });
  job.run({0}, 5000);
  EXPECT_EQ(job.workers[0]->came.back(), "worker 1 has ended: a sum awaits it");
}

TEST(Gather, FailsForAWorkerThatDoesNotCome) {
  Network network(1, 0, 50);
  GatheringServer server(network);
  Sharer worker(network, server, 0, 2, 1);
  network.run(200'000, [&] { return worker.isOver(); });
  EXPECT_THAT(worker.came, ElementsAre("worker 1 has not come for 180 s: a sum awaits it"));
}

/// Who comes later has it, too, and the rounds behind it.
TEST(Gather, WaitsForNobodyButWhoIsAskedFor) {
  Network network(1, 0, 50);
  GatheringServer server(network);
  auto from = [](uint64_t round) { return round == 0 ? 0 : -1; };
  Sharer first(network, server, 0, 3, 2), second(network, server, 1, 3, 2);
  first.from = second.from = from;
  network.run(20'000, [] { return false; });
  EXPECT_THAT(first.came, ElementsAre("0/0"));
  EXPECT_THAT(second.came, ElementsAre("0/0"));
  Sharer third(network, server, 2, 3, 2);
  third.from = from;
  network.run(40'000, [&] { return first.isOver() && second.isOver() && third.isOver(); });
  for (const Sharer *worker : {&first, &second, &third})
    EXPECT_THAT(worker->came, ElementsAre("0/0", "0/1 1/1 2/1"));
}

TEST(Gather, TellsWhoComesLaterThatOthersWereAtSomethingElse) {
  Network network(1, 0, 50);
  GatheringServer server(network);
  Sharer first(network, server, 0, 2, 1);
  first.from = [](uint64_t) { return 0; };
  network.run(20'000, [&] { return first.isOver(); });
  ASSERT_THAT(first.came, ElementsAre("0/0"));
  Sharer second(network, server, 1, 2, 1);
  second.what = [](uint64_t) { return "a mean"; };
  network.run(40'000, [&] { return second.isOver(); });
  EXPECT_THAT(second.came, ElementsAre("worker 1 is at a mean, worker 0 at a sum; expected the same of all"));
}

TEST(Gather, FailsForTheOneThatIsAskedFor) {
  Job job(1, 3, 1);
  for (const auto &worker : job.workers)
    worker->from = [](uint64_t) { return 2; };
  job.network.kill(*job.workers[2], /*silently=*/true);
  ASSERT_TRUE(job.run({0, 1}));
  EXPECT_THAT(job.workers[0]->came, ElementsAre("worker 2 has been silent for 3 s: a sum awaits it"));
}

TEST(Gather, IsForOneThing) {
  Job job(1, 2, 3);
  job.workers[1]->what = [](uint64_t round) { return round == 1 ? "a mean" : "a sum"; };
  ASSERT_TRUE(job.run({0, 1}));
  for (const auto &worker : job.workers) {
    EXPECT_THAT(worker->came[1], HasSubstr("expected the same of all"));
    EXPECT_EQ(worker->came[2], "0/2 1/2");
  }
}

TEST(Gather, HasWhoIsStartedAgainInTheOpenRound) {
  Job job(1, 2, 1000);
  job.network.after(3000, [&] { job.network.kill(*job.workers[1], /*silently=*/true); });
  job.run({0}, 8000);
  size_t failed = job.workers[0]->came.size();
  ASSERT_THAT(job.workers[0]->came.back(), HasSubstr("has been silent"));
  Sharer again(job.network, job.server, 1, 2, 5, /*life=*/2);
  job.network.run(job.network.now() + 20'000, [&] { return again.isOver(); });
  ASSERT_EQ(again.came.size(), 5u);
  EXPECT_EQ(job.workers[0]->came.back(), again.came.back());
  EXPECT_GE(job.workers[0]->came.size(), failed + 4);
}

TEST(Gather, EndsWithTheServer) {
  Job job(1, 2, 1000);
  job.network.after(3000, [&] { job.server.end("worker 1 has failed: the data are bad"); });
  ASSERT_TRUE(job.run({0, 1}, 5000));
  EXPECT_EQ(job.workers[0]->error(), "server 0 (one:6174) has failed: worker 1 has failed: the data are bad");
}

TEST(Gather, NoticesThatTheServerIsLost) {
  Job job(1, 2, 1000);
  job.network.after(3000, [&] { job.network.kill(job.server, /*silently=*/true); });
  ASSERT_TRUE(job.run({0, 1}, 10'000));
  EXPECT_THAT(job.workers[0]->error(), HasSubstr("server 0 (one:6174) has been silent for 3 s"));
}

} // namespace
} // namespace epl::runtime::servers::test
