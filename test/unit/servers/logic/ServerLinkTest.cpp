// When a server is tried again, and when it is given up.

#include "runtime/servers/logic/ServerLink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace epl::runtime::servers {
namespace {

using Due = ServerLink::Due;

constexpr Timing timing = {.deadline = 10'000, .arrival = 20'000};

/// The times, in milliseconds behind the break, at which a server is tried again.
std::vector<Milliseconds> triesOf(uint64_t seed) {
  std::mt19937_64 random(seed);
  ServerLink link(timing, 0);
  link.opened(0);
  link.welcomed(false);
  link.heardOf(0);
  std::vector<Milliseconds> tries;
  Milliseconds time = 0, broken = 0;
  for (link.broke(0, random); link.fault(time).empty(); ++time)
    if (link.tick(time, true) == Due::open) {
      tries.push_back(time - broken);
      link.opened(time);
      link.broke(time, random);
      broken = time;
    }
  return tries;
}

TEST(ServerLink, TriesAgainThreeTimesWithJitter) {
  std::set<std::vector<Milliseconds>> different;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Milliseconds> tries = triesOf(seed);
    ASSERT_EQ(tries.size(), 3u);
    for (size_t i = 0; i < tries.size(); ++i) {
      EXPECT_GE(tries[i], (timing.backoff << i) / 2);
      EXPECT_LE(tries[i], (timing.backoff << i) / 2 * 3);
    }
    EXPECT_EQ(tries, triesOf(seed)) << "all chance comes from the seed";
    different.insert(tries);
  }
  EXPECT_GT(different.size(), 40u);
}

/// Tries of the time before it was there do not count.
TEST(ServerLink, HasBreaksOnceTheServerIsThere) {
  std::mt19937_64 random(1);
  ServerLink link(timing, 0);
  for (int i = 0; i < 8; ++i) {
    link.opened(0);
    link.broke(0, random);
  }
  EXPECT_EQ(link.fault(5000), "");
  link.opened(5000);
  link.accepted(5000);
  EXPECT_EQ(link.fault(5000), "");
  EXPECT_EQ(link.tick(8001, false), Due::nothing) << "it is not merely slow to connect";
  EXPECT_EQ(link.fault(8001), "has been silent for 3 s");
}

TEST(ServerLink, CountsBreaksAnewBehindAFrame) {
  std::mt19937_64 random(1);
  ServerLink link(timing, 0);
  for (int i = 0; i < 20; ++i) {
    link.opened(0);
    link.welcomed(false);
    link.heardOf(0);
    link.broke(0, random);
    EXPECT_EQ(link.fault(0), "");
  }
}

TEST(ServerLink, OfAServerThatGreetsAndDoesNoMoreIsGivenUp) {
  std::mt19937_64 random(1);
  ServerLink link(timing, 0);
  for (int i = 0; i < 4; ++i) {
    link.opened(0);
    link.heardOf(0); // of the welcome
    link.welcomed(false);
    EXPECT_EQ(link.fault(0), "");
    link.broke(0, random);
  }
  EXPECT_EQ(link.fault(0), "has lost the connection 4 times in a row");
}

TEST(ServerLink, IsLostInSilence) {
  ServerLink link(timing, 0);
  link.opened(0);
  link.welcomed(false);
  link.heardOf(500);
  EXPECT_EQ(link.fault(3500), "");
  EXPECT_EQ(link.fault(3501), "has been silent for 3 s");
  link.shift(2000);
  EXPECT_EQ(link.fault(3501), "") << "this process has stood still";
}

TEST(ServerLink, HasTimeToArrive) {
  std::mt19937_64 random(1);
  ServerLink link(timing, 0);
  for (int i = 0; i < 10; ++i) {
    link.opened(0);
    link.broke(0, random);
  }
  EXPECT_EQ(link.fault(20'000), "");
  EXPECT_EQ(link.fault(20'001), "has not been there for 20 s");
  link.opened(0);
  EXPECT_EQ(link.tick(3000, false), Due::nothing);
  EXPECT_EQ(link.tick(3001, false), Due::reopen) << "a connection that hangs";
}

TEST(ServerLink, HasADeadlineForAnswers) {
  std::mt19937_64 random(1);
  ServerLink link(timing, 0);
  Milliseconds time = 0;
  auto reconnect = [&] {
    link.opened(time);
    link.welcomed(false);
  };
  auto untilReopen = [&](bool answers) {
    Milliseconds begin = time;
    for (;; time += 100) {
      link.heardOf(time); // heartbeats go on
      if (answers && time == begin + 5000)
        link.answered(time);
      if (link.tick(time, true) == Due::reopen)
        return time - begin;
    }
  };
  reconnect();
  EXPECT_EQ(untilReopen(false), 10'100u);
  reconnect();
  EXPECT_EQ(untilReopen(true), 15'100u) << "an answer begins the time anew, and the count";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(link.fault(time), "");
    reconnect();
    untilReopen(false);
  }
  EXPECT_EQ(link.fault(time), "has not answered within 10 s, 4 times in a row");
}

TEST(ServerLink, BeatsWhileItIsOpen) {
  ServerLink link(timing, 0);
  EXPECT_FALSE(link.beats(5000));
  link.opened(5000);
  link.welcomed(false);
  EXPECT_FALSE(link.beats(5999));
  EXPECT_TRUE(link.beats(6000));
  EXPECT_FALSE(link.beats(6500));
}

} // namespace
} // namespace epl::runtime::servers
