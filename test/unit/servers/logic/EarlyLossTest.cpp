// What a server does of workers that end before they have begun, of which all-gathers tell it.

#include "test/unit/servers/logic/ServerHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers::test {
namespace {

using manifest::Mode;
using manifest::OnLost;
using testing::SizeIs;

/// A server to which workers come by streams of all-gathers, which count from 1000 on.
class EarlyServer : public ServerHarness {
public:
  explicit EarlyServer(const manifest::ManifestT &manifest)
      : ServerHarness(manifest), workers(manifest.workers) {}

  void join(uint32_t worker, uint64_t life = 1) {
    frames::JoinT join;
    join.protocol = protocolVersion, join.worker = worker, join.workers = workers;
    join.life = life, join.stream = 1;
    gather.join(members[worker] = ++lastMember, join, now);
  }

  void say(uint32_t worker, const Message &message) {
    gather.received(members.at(worker), encode(message), {}, now);
  }

  void fail(uint32_t worker, const std::string &text, bool ofServer = false) {
    frames::FailureT failure;
    failure.text = text, failure.of_server = ofServer;
    say(worker, failure);
  }

  void leaveGathers(uint32_t worker) { gather.broke(members.at(worker), ""); }

  /// Time passes, with heartbeats of these workers among all-gathers, and of others as of the job's.
  void live(Milliseconds time, const std::vector<uint32_t> &living, const std::vector<uint32_t> &beating = {},
            bool goesOn = false) {
    frames::HeartbeatT heartbeat;
    heartbeat.goes_on = goesOn;
    for (Milliseconds until = now + time; now < until && !end;) {
      for (uint32_t worker : living)
        say(worker, heartbeat);
      gather.tick(now);
      pass(500, beating);
    }
  }

private:
  uint32_t workers;
  StreamId lastMember = 1000;
  std::map<uint32_t, StreamId> members;
};

TEST(EarlyLoss, EndsAJobThatNobodyKnows) {
  EarlyServer server(makeScalar(Mode::async));
  server.join(0), server.join(1);
  server.live(4000, {0});
  EXPECT_EQ(server.end, "server 0: worker 1 has been silent for 3 s");
}

TEST(EarlyLoss, EndsAJobThatIsSetUp) {
  EarlyServer server(makeScalar(Mode::sync));
  server.join(0), server.join(1);
  server.greet(0);
  server.live(4000, {0}, {0});
  EXPECT_EQ(server.end, "server 0: worker 1 has been silent for 3 s");
  EXPECT_EQ(server.failure(server.streams[0]), server.end) << "who is there is told";
}

TEST(EarlyLoss, EndsNoJobThatGoesOn) {
  EarlyServer server(makeScalar(Mode::async));
  server.join(0), server.join(1);
  server.live(6000, {0}, {}, /*goesOn=*/true);
  EXPECT_EQ(server.end, std::nullopt) << "as worker 0 has said";
  server.setUp();
  server.pass(1000, {0, 1});
  EXPECT_EQ(server.end, std::nullopt) << "the lost one has come";
}

TEST(EarlyLoss, IsNotAwaitedWhereTheOthersGoOn) {
  EarlyServer server(makeScalar(Mode::sync, 3, OnLost::go_on));
  for (uint32_t worker : {0, 1, 2})
    server.join(worker);
  server.setUpOf({0, 1});
  server.push(0, 0, 0, 2), server.push(1, 0, 0, 4);
  EXPECT_THAT(server.updates, SizeIs(0));
  server.live(4000, {0, 1}, {0, 1});
  EXPECT_EQ(server.end, std::nullopt);
  ASSERT_THAT(server.updates, SizeIs(1));
  EXPECT_EQ(server.updates[0].factor, 0.5);
}

TEST(EarlyLoss, KeepsNoServerWhenTheOthersHaveLeft) {
  EarlyServer server(makeScalar(Mode::async));
  server.join(0), server.join(1);
  server.setUpOf({0});
  server.leaveGathers(0);
  server.leave(0, 0);
  EXPECT_EQ(server.end, std::nullopt) << "worker 1 may come";
  server.live(4000, {});
  EXPECT_EQ(server.end, "");
}

TEST(EarlyLoss, OfWorkerZeroEndsWhateverGoesOn) {
  EarlyServer server(makeScalar(Mode::async));
  server.join(0), server.join(1);
  server.live(4000, {1}, {}, /*goesOn=*/true);
  EXPECT_EQ(server.end, "server 0: worker 0 has been silent for 3 s");
}

TEST(EarlyLoss, SaysWhatHasFailed) {
  EarlyServer server(makeScalar(Mode::sync));
  server.join(0), server.join(1);
  server.fail(1, "ValueError: no such file");
  server.live(500, {0});
  EXPECT_EQ(server.end, "server 0: worker 1 has failed: ValueError: no such file");
}

TEST(EarlyLoss, OfAnotherServerEndsWhateverGoesOn) {
  EarlyServer server(makeScalar(Mode::async));
  server.join(0), server.join(1);
  server.live(1500, {0, 1}, {}, /*goesOn=*/true);
  server.fail(1, "server 1 (two:6174) has been silent for 3 s", /*ofServer=*/true);
  server.live(500, {0});
  EXPECT_EQ(server.end, "server 0: worker 1 has failed: server 1 (two:6174) has been silent for 3 s");
}

/// Who has begun sees such a server himself; what one worker says may be of its own connection.
TEST(EarlyLoss, OfAnotherServerIsALostWorkersOnceAJobHasBegun) {
  EarlyServer server(makeScalar(Mode::async));
  server.join(0), server.join(1);
  server.setUp();
  server.fail(1, "server 1 (two:6174) has been silent for 3 s", /*ofServer=*/true);
  server.live(2000, {0}, {0, 1});
  EXPECT_EQ(server.end, std::nullopt);
}

TEST(EarlyLoss, IsNoneOfWhoComesAgain) {
  EarlyServer server(makeScalar(Mode::sync));
  server.join(0), server.join(1);
  server.live(2000, {0});
  server.join(1, /*life=*/2);
  server.live(2000, {0, 1});
  EXPECT_EQ(server.end, std::nullopt);
  server.live(60'000, {0, 1});
  EXPECT_EQ(server.end, std::nullopt);
}

/// A step may be compiled for longer than a worker has to come.
TEST(EarlyLoss, IsNoneOfWhoCompiles) {
  EarlyServer server(makeScalar(Mode::sync));
  server.join(0), server.join(1);
  server.live(400'000, {0, 1});
  EXPECT_EQ(server.end, std::nullopt);
  EarlyServer half(makeScalar(Mode::sync));
  half.join(0);
  half.live(200'000, {0});
  EXPECT_EQ(half.end, "server 0: worker 1 has not come for 180 s");
}

TEST(EarlyLoss, IsNoneOfWhoHasLeft) {
  EarlyServer server(makeScalar(Mode::sync));
  server.join(0), server.join(1);
  server.leaveGathers(1);
  server.live(5000, {0});
  EXPECT_EQ(server.end, std::nullopt) << "it has no part in a job";
  server.setUpOf({0});
  server.push(0, 0, 0, 2);
  server.live(1000, {0}, {0});
  ASSERT_THAT(server.updates, SizeIs(1));
  server.finishUpdates();
  server.leave(0, 1);
  EXPECT_EQ(server.end, "");
}

TEST(EarlyLoss, EndsWellWhereNobodyWantsAJob) {
  EarlyServer server(makeScalar(Mode::sync));
  server.join(0), server.join(1);
  server.leaveGathers(0);
  server.live(1000, {1});
  EXPECT_EQ(server.end, std::nullopt);
  server.leaveGathers(1);
  server.live(500, {});
  EXPECT_EQ(server.end, "");
}

TEST(EarlyLoss, EndsIfWorkerZeroHasLeftWhomOthersNeed) {
  EarlyServer server(makeScalar(Mode::sync));
  server.join(0), server.join(1);
  server.leaveGathers(0);
  server.greet(1);
  server.live(500, {1}, {1});
  EXPECT_EQ(server.end, "server 0: worker 0 has ended before the first call of a step, and others await "
                        "what it sends");
}

} // namespace
} // namespace epl::runtime::servers::test
