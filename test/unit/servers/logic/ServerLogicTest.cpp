// What a server does with frames, and what it says of those that it cannot take.

#include "test/unit/servers/logic/ServerHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers::test {
namespace {

using manifest::Mode;
using manifest::OnLost;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<uint32_t> workersOf(const server_actions::UpdateBlock &update) {
  std::vector<uint32_t> workers;
  for (const GradientKey &key : update.gradients)
    workers.push_back(key.worker);
  return workers;
}

/// Case 68: gradients 2 and 4, rate 0.1, w = 1.
TEST(ServerLogic, AveragesInSync) {
  ServerHarness server(makeScalar(Mode::sync));
  server.apply = [](float value, float gradient, float) { return value - 0.1f * gradient; };
  server.setUp();
  server.numbers[0] = 1;
  server.push(1, 0, 0, 4);
  EXPECT_THAT(server.updates, SizeIs(0));
  server.push(0, 0, 0, 2);
  ASSERT_THAT(server.updates, SizeIs(1));
  EXPECT_THAT(workersOf(server.updates[0]), ElementsAre(0, 1))
      << "in the order of workers, however they come";
  EXPECT_EQ(server.updates[0].factor, 0.5);
  server.finishUpdates();
  EXPECT_FLOAT_EQ(server.numbers[0], 0.7f);
}

TEST(ServerLogic, AppliesEachGradientWithoutSync) {
  for (std::vector<uint32_t> order : {std::vector<uint32_t>{0, 1}, {1, 0}}) {
    ServerHarness server(makeScalar(Mode::async));
    server.apply = [](float value, float gradient, float) { return value - 0.1f * gradient; };
    server.setUp();
    server.numbers[0] = 1;
    for (uint32_t worker : order)
      server.push(worker, 0, 0, worker == 0 ? 2 : 4);
    server.finishUpdates();
    ASSERT_THAT(server.updates, SizeIs(2));
    EXPECT_EQ(server.updates[0].factor, 1);
    EXPECT_FLOAT_EQ(server.numbers[0], 0.4f);
  }
}

/// Case 69: w = 1, the worker's is 1.5, its gradient 2.
TEST(ServerLogic, KeepsABackupForEachWorkerOfDcAsgd) {
  ServerHarness server(makeScalar(Mode::dc_asgd));
  float compensated = -1;
  server.apply = [&](float value, float gradient, float backup) {
    compensated = gradient + gradient * gradient * (value - backup);
    return value - compensated;
  };
  server.setUp();
  server.numbers[0] = 1.5;
  server.pull(0, {{0, 0}});
  server.pull(1, {{0, 0}});
  server.push(1, 0, 0, 0.5);
  server.finishUpdates();
  EXPECT_EQ(server.numbers[0], 1);
  server.push(0, 0, 0, 2);
  server.finishUpdates();
  EXPECT_EQ(compensated, 0);
  EXPECT_EQ(server.numbers[0], 1);
}

/// Case 70: of 2 workers one has w = 3, and had 1 from the server.
TEST(ServerLogic, AddsDifferencesOfGeo) {
  ServerHarness server(makeScalar(Mode::geo));
  server.apply = [](float value, float difference, float) { return value + difference; };
  server.setUp();
  server.numbers[0] = 1;
  float local = 3, old = 1, difference = (local - old) / 2;
  old += difference;
  server.push(0, 1, 0, difference);
  server.pull(0, {{2, 0}});
  EXPECT_THAT(server.sentNumbers, SizeIs(0)) << "a pull waits for the worker's own difference";
  server.finishUpdates();
  ASSERT_THAT(server.sentNumbers, ElementsAre(2));
  local += server.sentNumbers[0] - old;
  EXPECT_EQ(local, 3);
  EXPECT_EQ(server.sentNumbers[0], 2);
}

TEST(ServerLogic, AnswersPullsWithTheStepsThatTheyName) {
  for (Mode mode : {Mode::sync, Mode::half_async, Mode::async}) {
    ServerHarness server(makeScalar(mode));
    server.setUp();
    server.push(0, 0, 0, 1);
    server.pull(0, {{mode == Mode::async ? 0u : 1u, 0}});
    server.finishUpdates();
    EXPECT_THAT(server.values, SizeIs(mode == Mode::sync ? 0 : 1)) << manifest::EnumNameMode(mode);
    server.push(1, 0, 0, 1);
    server.finishUpdates();
    ASSERT_THAT(server.values, SizeIs(1));
    EXPECT_EQ(server.values[0].worker, 0u);
  }
}

TEST(ServerLogic, AnswersBlocksInTheOrderOfTheRequest) {
  ServerHarness server(makeManifest({{"a", {1}}, {"b", {1}}, {"c", {1}}}, {.servers = 1}));
  server.setUp();
  server.pull(1, {{0, 2}, {0, 0}, {0, 1}});
  ASSERT_THAT(server.values, SizeIs(3));
  EXPECT_EQ(server.values[0].block, 2u);
  EXPECT_EQ(server.values[1].block, 0u);
}

TEST(ServerLogic, AnswersRepeatsAndDoesNotApplyThem) {
  for (Mode mode : {Mode::sync, Mode::async}) {
    ServerHarness server(makeScalar(mode, 1));
    server.setUp();
    server.push(0, 0, 0, 1);
    StreamId again = server.greet(0, 1, 2);
    server.push(0, 0, 0, 1);
    EXPECT_THAT(server.sent<frames::AcknowledgeT>(again), SizeIs(mode == Mode::sync ? 1 : 0))
        << "without sync it says that the push has been applied";
    server.finishUpdates();
    again = server.greet(0, 1, 3);
    server.push(0, 0, 0, 1);
    server.finishUpdates();
    EXPECT_THAT(server.updates, SizeIs(1));
    EXPECT_THAT(server.sent<frames::AcknowledgeT>(again), SizeIs(1));
    server.push(0, 1, 0, 1);
    EXPECT_THAT(server.updates, SizeIs(2));
  }
}

TEST(ServerLogic, TakesAPushAgainFromItsFirstPieceOn) {
  ServerHarness server(makeScalar(Mode::sync, 1));
  server.setUp();
  float gradient = 7;
  auto bytes = std::as_bytes(std::span(&gradient, 1));
  frames::PushT push;
  push.total = 4;
  server.receive(server.streams[0], push, bytes.first(2));
  server.greet(0, 1, 2);
  server.receive(server.streams[0], push, bytes.first(3));
  push.offset = 3;
  server.receive(server.streams[0], push, bytes.last(1));
  server.finishUpdates();
  EXPECT_EQ(server.numbers[0], -7);
}

TEST(ServerLogic, AveragesTheRestWhenAWorkerLeaves) {
  ServerHarness server(makeScalar(Mode::sync, 3));
  server.setUp();
  server.push(0, 0, 0, 2);
  server.push(2, 0, 0, 4);
  server.leave(1, 0);
  ASSERT_THAT(server.updates, SizeIs(1));
  EXPECT_THAT(workersOf(server.updates[0]), ElementsAre(0, 2));
  EXPECT_EQ(server.updates[0].factor, 0.5);
  server.finishUpdates();
  EXPECT_EQ(server.numbers[0], -3);
  EXPECT_THAT(server.sent<frames::GoodbyeT>(server.streams[1]), SizeIs(1));
  server.leave(0, 1);
  server.push(2, 1, 0, 1);
  EXPECT_THAT(workersOf(server.updates[1]), ElementsAre(2));
  server.leave(2, 2);
  EXPECT_EQ(server.end, std::nullopt) << "an update runs";
  server.finishUpdates();
  EXPECT_EQ(server.end, "");
}

TEST(ServerLogic, WithNoBlocksIsDoneWhenAllHaveLeft) {
  ServerHarness server(makeManifest({{"w", {1}}}, {.servers = 2}), /*server=*/1);
  server.setUp();
  server.leave(1, 0);
  EXPECT_EQ(server.end, std::nullopt);
  server.leave(0, 5);
  EXPECT_EQ(server.end, "");
}

TEST(ServerLogic, EndsSyncWithTheNameOfWhoIsSilent) {
  ServerHarness server(makeScalar(Mode::sync, 3));
  server.setUp();
  server.push(0, 0, 0, 2);
  server.pass(4000, {0, 1});
  std::string error = "server 0: worker 2 has been silent for 3 s: step 0 of block \"w\" awaits it";
  EXPECT_EQ(server.end, error);
  EXPECT_EQ(server.failure(server.streams[0]), error);
}

TEST(ServerLogic, GoesOnWithoutWhoIsSilentIfToldTo) {
  ServerHarness server(makeScalar(Mode::sync, 3, OnLost::go_on));
  server.setUp();
  server.push(0, 0, 0, 2);
  server.push(1, 0, 0, 4);
  server.pass(4000, {0, 1});
  ASSERT_THAT(server.updates, SizeIs(1));
  EXPECT_EQ(server.updates[0].factor, 0.5);
  EXPECT_EQ(server.end, std::nullopt);
  EXPECT_THAT(server.failure(server.streams[2]), HasSubstr("worker 2 has been silent for 3 s"));
  StreamId again = server.greet(2, 1, 2);
  EXPECT_THAT(server.failure(again), HasSubstr("worker 2 was lost, and the others have gone on without it"));
}

TEST(ServerLogic, LetsANewLifeJoinAStepThatIsOpen) {
  ServerHarness server(makeScalar(Mode::sync, 2, OnLost::go_on));
  server.setUp();
  server.push(1, 0, 0, 4);
  server.push(0, 0, 0, 2);
  server.finishUpdates();
  server.push(1, 1, 0, 8);
  StreamId joined = server.greet(1, 2);
  ASSERT_THAT(server.sent<frames::WelcomeT>(joined), SizeIs(1));
  EXPECT_EQ(server.sent<frames::WelcomeT>(joined)[0].step, 1u);
  server.begin(1, 1);
  server.push(0, 1, 0, 2);
  EXPECT_THAT(server.updates, SizeIs(1)) << "what the life before has pushed of the step does not count";
  server.push(1, 1, 0, 6);
  ASSERT_THAT(server.updates, SizeIs(2));
  server.finishUpdates();
  EXPECT_EQ(server.numbers[0], -3 - 4);
}

TEST(ServerLogic, OfAnEarlierStepWaitsForNobodyWhoBeginsLater) {
  ServerHarness server(makeScalar(Mode::sync, 2, OnLost::go_on));
  server.setUp();
  server.push(1, 0, 0, 1);
  server.greet(1, 2);
  server.push(0, 0, 0, 2);
  EXPECT_THAT(server.updates, SizeIs(0));
  server.begin(1, 1); // on another server step 0 has been done
  ASSERT_THAT(server.updates, SizeIs(1));
  EXPECT_THAT(workersOf(server.updates[0]), ElementsAre(0));
}

TEST(ServerLogic, EndsSyncWhenAWorkerIsStartedAgain) {
  ServerHarness server(makeScalar(Mode::sync));
  server.setUp();
  server.push(1, 0, 0, 1);
  StreamId again = server.greet(1, 2);
  EXPECT_EQ(server.end, "server 0: worker 1 has been started again, and what it was doing is lost");
  for (StreamId stream : {server.streams[0], again})
    EXPECT_EQ(server.failure(stream), server.end) << "all are told, and who has come as well";
}

TEST(ServerLogic, TakesBackWhoIsHeardAgainWithoutSync) {
  ServerHarness server(makeScalar(Mode::async));
  server.setUp();
  server.push(1, 0, 0, 1);
  server.finishUpdates();
  StreamId before = server.streams[1];
  server.pass(4000, {0});
  EXPECT_THAT(server.closed, ElementsAre(before));
  EXPECT_EQ(server.failure(before), "");
  EXPECT_EQ(server.end, std::nullopt);
  server.greet(1, 1, 2);
  server.push(1, 0, 0, 1);
  server.push(1, 1, 0, 1);
  server.finishUpdates();
  EXPECT_EQ(server.numbers[0], -2);
  server.leave(1, 2);
  server.leave(0, 0);
  EXPECT_EQ(server.end, "");
}

TEST(ServerLogic, CountsStepsOfANewLifeAnew) {
  ServerHarness server(makeScalar(Mode::half_async));
  server.setUp();
  server.push(1, 0, 0, 1);
  StreamId joined = server.greet(1, 2);
  server.begin(1, 0);
  server.push(1, 0, 0, 1);
  server.pull(1, {{1, 0}});
  ASSERT_THAT(server.updates, SizeIs(1));
  server.act(server.logic.updateEnded(0, server.now));
  EXPECT_THAT(server.sent<frames::AcknowledgeT>(joined), SizeIs(0)) << "of the life before";
  EXPECT_THAT(server.values, SizeIs(0));
  ASSERT_THAT(server.updates, SizeIs(2));
  server.act(server.logic.updateEnded(0, server.now));
  EXPECT_THAT(server.sent<frames::AcknowledgeT>(joined), SizeIs(1));
  EXPECT_THAT(server.values, SizeIs(1));
}

TEST(ServerLogic, EndsWithWorkerZero) {
  ServerHarness server(makeScalar(Mode::async));
  server.setUp();
  server.pass(4000, {1});
  EXPECT_EQ(server.end, "server 0: worker 0 has been silent for 3 s");
}

TEST(ServerLogic, EndsWithWhatAWorkerSaysOfItsEnd) {
  ServerHarness server(makeScalar(Mode::sync));
  server.setUp();
  frames::FailureT failure;
  failure.text = "ValueError: no such file";
  server.receive(server.streams[1], failure);
  EXPECT_EQ(server.end, "server 0: worker 1 has failed: ValueError: no such file");
}

TEST(ServerLogic, SaysToWhoComesLateWhyItHasEnded) {
  ServerHarness server(makeScalar(Mode::sync));
  server.greet(0);
  frames::FailureT failure;
  failure.text = "ValueError: no such file";
  server.receive(server.streams[0], failure);
  ASSERT_NE(server.end, std::nullopt);
  StreamId late = server.greet(1);
  EXPECT_THAT(server.failure(late), HasSubstr("worker 0 has failed: ValueError: no such file"));
  EXPECT_THAT(server.closed, testing::Contains(late));
  size_t said = server.frames[server.streams[0]].size();
  server.receive(server.streams[0], frames::HeartbeatT());
  EXPECT_EQ(server.frames[server.streams[0]].size(), said) << "who knows it is told once";
}

TEST(ServerLogic, NamesWhoHasNotCome) {
  ServerHarness alone(makeScalar(Mode::sync)), half(makeScalar(Mode::sync));
  alone.pass(181'000);
  EXPECT_EQ(alone.end, "server 0: worker 0 has not come for 180 s");
  half.setUp();
  ServerHarness absent(makeScalar(Mode::sync, 2));
  absent.greet(0);
  absent.pass(2000, {0});
  EXPECT_EQ(absent.end, std::nullopt);
}

/// One of another job may be left over from an earlier run; but if nobody else comes, others wait in vain.
TEST(ServerLogic, EndsIfAWorkerComesOfAnotherJobAlone) {
  for (bool comesFirst : {true, false}) {
    auto stranger = [](frames::HelloT &hello) { hello.worker = 1, ++hello.job_low; };
    for (bool isReplaced : {true, false}) {
      ServerHarness server(makeScalar(Mode::sync));
      if (comesFirst)
        server.greet(stranger);
      server.greet(0);
      if (!comesFirst)
        server.greet(stranger);
      if (isReplaced)
        server.greet(1);
      server.pass(4000, isReplaced ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{0});
      if (isReplaced)
        EXPECT_EQ(server.end, std::nullopt);
      else
        EXPECT_THAT(server.end.value_or(""), HasSubstr("worker 1 has manifest"));
    }
  }
}

TEST(ServerLogic, TellsWhoIsAwaited) {
  ServerHarness server(makeScalar(Mode::sync, 3));
  server.setUp();
  server.push(0, 0, 0, 2);
  server.pull(0, {{1, 0}});
  server.pass(1000, {0, 1, 2});
  std::vector<frames::HeartbeatT> beats = server.sent<frames::HeartbeatT>(server.streams[0]);
  ASSERT_THAT(beats, SizeIs(1));
  EXPECT_EQ(beats[0].block, 0);
  EXPECT_EQ(beats[0].step, 0u);
  EXPECT_THAT(beats[0].awaited, ElementsAre(1, 2));
  EXPECT_EQ(server.sent<frames::HeartbeatT>(server.streams[1])[0].block, -1);
}

TEST(ServerLogic, ForgivesItsOwnStandstill) {
  ServerHarness server(makeScalar(Mode::sync));
  server.setUp();
  server.act(server.logic.tick(server.now += 60'000));
  EXPECT_EQ(server.end, std::nullopt);
}

} // namespace
} // namespace epl::runtime::servers::test
