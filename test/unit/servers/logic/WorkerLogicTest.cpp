// What a worker says to its servers, and when it gives one up.

#include "test/unit/servers/logic/WorkerHarness.h"

#include "runtime/Error.h"
#include "test/unit/servers/ErrorOf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace epl::runtime::servers::test {
namespace {

using namespace worker_actions;
using manifest::Mode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(WorkerLogic, GreetsAllServersAndBeginsWhereAllCan) {
  WorkerHarness worker;
  ASSERT_THAT(worker.sent<frames::HelloT>(1), SizeIs(1));
  EXPECT_EQ(worker.sent<frames::HelloT>(1)[0].server, 1u);
  EXPECT_EQ(worker.sent<frames::HelloT>(1)[0].workers, 3u);
  worker.welcome(0, 5);
  worker.welcome(1, 4, /*ready=*/false);
  EXPECT_THAT(worker.done<BeginSteps>(), SizeIs(0));
  worker.receive(1, frames::ReadyT());
  ASSERT_THAT(worker.done<BeginSteps>(), SizeIs(1));
  EXPECT_EQ(worker.done<BeginSteps>()[0].step, 5u);
  EXPECT_EQ(worker.sent<frames::BeginT>(0)[0].step, 5u);
}

TEST(WorkerLogic, SetsUpServersAsWorkerZeroAlone) {
  WorkerHarness zero(Mode::sync, 0), one;
  frames::WelcomeT welcome;
  welcome.set_up = 1;
  zero.receive(0, welcome);
  one.receive(0, welcome);
  std::vector<SetupItem> items;
  for (const SendSetup &send : zero.done<SendSetup>())
    items.push_back(send.item);
  std::vector<SetupItem> expected = setupItems(zero.job->blocks, 0);
  expected.erase(expected.begin()); // the server has the first one
  EXPECT_EQ(items, expected);
  EXPECT_THAT(one.done<SendSetup>(), SizeIs(0));
}

TEST(WorkerLogic, AsksEachServerOnceForAStep) {
  WorkerHarness worker;
  worker.begin();
  worker.pull(7, {2, 1, 0});
  ASSERT_THAT(worker.sent<frames::PullRequestT>(0), SizeIs(1));
  ASSERT_THAT(worker.sent<frames::PullRequestT>(1), SizeIs(1));
  std::vector<frames::PulledBlock> blocks = worker.sent<frames::PullRequestT>(0)[0].blocks;
  ASSERT_THAT(blocks, SizeIs(2));
  EXPECT_EQ(blocks[0].block(), 2u) << "in the order of use";
  EXPECT_EQ(blocks[0].least(), 7u);
  worker.answer(0, 2, 7);
  worker.answer(0, 0, 7);
  ASSERT_THAT(worker.done<HaveValue>(), SizeIs(2));
  EXPECT_EQ(worker.done<HaveValue>()[0].block, 2u);
}

TEST(WorkerLogic, WantsItsOwnPushesInHalfAsync) {
  for (Mode mode : {Mode::half_async, Mode::async}) {
    WorkerHarness worker(mode);
    worker.begin();
    worker.push(0, 1, 10);
    worker.push(1, 1, 11); // waits for the one before
    worker.pull(2, {1});
    EXPECT_EQ(worker.sent<frames::PullRequestT>(1)[0].blocks[0].least(), mode == Mode::async ? 0u : 2u);
  }
}

TEST(WorkerLogic, PushesOfGeoEachFewSteps) {
  WorkerHarness geo(Mode::geo), sync;
  EXPECT_FALSE(geo.logic->isPushed(0));
  EXPECT_TRUE(geo.logic->isPushed(1));
  EXPECT_FALSE(geo.logic->isPushed(2));
  EXPECT_TRUE(sync.logic->isPushed(0));
}

TEST(WorkerLogic, MergesGradientsThatWait) {
  for (Merge merge : {Merge::sum, Merge::mean}) {
    WorkerOptions options;
    options.merge = merge, options.maxMerge = 2;
    WorkerHarness worker(Mode::async, 1, options);
    worker.begin();
    for (uint64_t step = 0; step < 4; ++step)
      worker.push(step, 1, 10 + step);
    EXPECT_EQ(worker.logic->waiting(1), 2u);
    ASSERT_THAT(worker.done<MergeGradient>(), SizeIs(1));
    EXPECT_EQ(worker.done<MergeGradient>()[0].into, 11u);
    EXPECT_EQ(worker.done<MergeGradient>()[0].from, 12u);
    worker.acknowledge(1, 0, 1);
    EXPECT_THAT(worker.pushes(), ElementsAre("1/0/b", "1/2/b"));
    EXPECT_EQ(worker.done<SendGradient>()[1].factor, merge == Merge::mean ? 0.5 : 1);
    EXPECT_EQ(worker.done<ReleaseGradient>()[0].gradient, 10u);
  }
}

/// The sum of two updates is none of the sums of gradients and of learning rates.
TEST(WorkerLogic, MergesNoGradientsWithValuesBeside) {
  manifest::ManifestT manifest = makeManifest({{"a", {1}}, {"b", {1}}}, {.servers = 2}, Mode::async, 3);
  addNumber(manifest);
  WorkerHarness worker(std::move(manifest), 1, {});
  worker.begin();
  for (uint64_t step = 0; step < 3; ++step)
    worker.push(step, 1, 10 + step);
  EXPECT_EQ(worker.logic->waiting(1), 2u);
  worker.acknowledge(1, 0, 1);
  worker.acknowledge(1, 1, 1);
  EXPECT_THAT(worker.pushes(), ElementsAre("1/0/b", "1/1/b", "1/2/b"));
  EXPECT_THAT(worker.done<MergeGradient>(), SizeIs(0));
}

TEST(WorkerLogic, EndsWhereAServerRefusesIt) {
  WorkerHarness worker;
  worker.welcome(0);
  worker.act(worker.logic->refused({1, 1}, "expected the token of the server, found none"));
  EXPECT_EQ(worker.end,
            "server 1 (two:6174) has no stream for this worker: expected the token of the server, "
            "found none");
  ASSERT_THAT(worker.sent<frames::FailureT>(0), SizeIs(1));
  EXPECT_EQ(worker.sent<frames::FailureT>(0).front().text, *worker.end);
}

TEST(WorkerLogic, IsNotRefusedByAStreamOfBefore) {
  WorkerHarness worker;
  worker.breakStream(1);
  worker.pass(500, {});
  ASSERT_EQ(worker.streams[1], 2u);
  worker.act(worker.logic->refused({1, 1}, "expected the token of the server, found none"));
  EXPECT_FALSE(worker.logic->hasEnded());
}

TEST(WorkerLogic, SaysWhyAServerHasNotBeenThere) {
  WorkerOptions options;
  options.timing.arrival = 2000;
  WorkerHarness worker(Mode::sync, 1, options);
  worker.welcome(0);
  worker.breakStream(1);
  worker.pass(5000, {0});
  EXPECT_EQ(worker.end, "server 1 (two:6174) has not been there for 2 s (reset by peer)");
}

TEST(WorkerLogic, SaysAgainOnAnotherStreamWhatIsUnanswered) {
  WorkerHarness worker;
  worker.begin();
  worker.push(0, 0, 10);
  worker.push(0, 2, 11);
  worker.pull(1, {0, 2});
  worker.acknowledge(0, 0, 0);
  worker.answer(0, 0, 1);
  worker.breakStream(0);
  worker.pass(500, {1});
  EXPECT_EQ(worker.streams[0], 2u);
  EXPECT_THAT(worker.pushes(), ElementsAre("1/0/a", "1/0/c")) << "nothing before it is welcomed";
  worker.welcome(0);
  EXPECT_THAT(worker.pushes(), ElementsAre("1/0/a", "1/0/c", "2/0/c"));
  EXPECT_THAT(worker.sent<frames::BeginT>(0), SizeIs(2));
  std::vector<frames::PullRequestT> requests = worker.sent<frames::PullRequestT>(0);
  ASSERT_THAT(requests, SizeIs(2));
  ASSERT_THAT(requests[1].blocks, SizeIs(1));
  EXPECT_EQ(requests[1].blocks[0].block(), 2u);
}

TEST(WorkerLogic, KeepsWhatItIsGivenWhileAStreamIsGone) {
  WorkerHarness worker;
  worker.begin();
  worker.breakStream(1);
  worker.push(0, 1, 10);
  worker.pull(1, {1});
  EXPECT_THAT(worker.pushes(), ElementsAre());
  worker.pass(500, {0});
  worker.welcome(1);
  EXPECT_THAT(worker.pushes(), ElementsAre("2/0/b"));
  EXPECT_THAT(worker.sent<frames::PullRequestT>(1), SizeIs(1));
}

TEST(WorkerLogic, IgnoresStreamsThatItHasGivenUp) {
  WorkerHarness worker;
  worker.begin();
  worker.breakStream(0);
  worker.pass(500, {1});
  frames::FailureT failure;
  failure.text = "server 0: worker 1 has opened another stream since";
  worker.act(worker.logic->received({0, 1}, encode(failure), {}, worker.now));
  worker.act(worker.logic->broke({0, 1}, "", worker.now));
  EXPECT_EQ(worker.end, std::nullopt);
}

TEST(WorkerLogic, NamesAServerThatIsGone) {
  WorkerHarness worker;
  worker.begin();
  worker.push(4, 1, 10);
  for (uint32_t stream = 1; stream <= 4; ++stream) {
    EXPECT_EQ(worker.streams[1], stream);
    worker.breakStream(1);
    while (worker.streams[1] == stream && !worker.end)
      worker.pass(100, {0});
  }
  EXPECT_EQ(worker.end,
            "server 1 (two:6174) has lost the connection 4 times in a row (reset by peer); it has not "
            "acknowledged step 4 of block \"b\"");
  ASSERT_THAT(worker.sent<frames::FailureT>(0), SizeIs(1)) << "the other server is told";
  EXPECT_EQ(worker.sent<frames::FailureT>(0)[0].text, worker.end);
}

TEST(WorkerLogic, NamesASilentServerAndWhoIsAwaited) {
  WorkerHarness worker;
  worker.begin();
  worker.pull(5, {1});
  frames::HeartbeatT heartbeat;
  heartbeat.block = 1, heartbeat.step = 4, heartbeat.awaited = {0, 2};
  worker.receive(1, heartbeat);
  worker.pass(4000, {0});
  EXPECT_EQ(worker.end,
            "server 1 (two:6174) has been silent for 3 s; it has not answered for block \"b\" of step 5; "
            "step 4 of block \"b\" awaits worker 0, 2");
}

TEST(WorkerLogic, GivesUpAfterDeadlines) {
  WorkerHarness worker;
  worker.begin();
  worker.pull(5, {1});
  uint32_t streams = 1;
  for (int i = 0; i < 500 && !worker.end; ++i) {
    worker.pass(100);
    if (worker.streams[1] > streams) {
      streams = worker.streams[1];
      worker.welcome(1);
    }
  }
  EXPECT_EQ(streams, 4u);
  EXPECT_EQ(worker.end,
            "server 1 (two:6174) has not answered within 10 s, 4 times in a row; it has not answered for "
            "block \"b\" of step 5");
}

TEST(WorkerLogic, NamesAServerThatHasNeverBeenThere) {
  WorkerHarness worker;
  worker.welcome(0);
  for (int i = 0; i < 2000 && !worker.end; ++i) {
    worker.pass(100, {0});
    worker.breakStream(1);
  }
  EXPECT_EQ(worker.end, "server 1 (two:6174) has not been there for 180 s (reset by peer)");
}

TEST(WorkerLogic, EndsWithWhatAServerSays) {
  WorkerHarness worker;
  worker.begin();
  frames::FailureT failure;
  failure.text = "server 0: worker 2 has been silent for 3 s";
  worker.receive(0, failure);
  EXPECT_EQ(worker.end, failure.text);
  EXPECT_THAT(worker.done<CloseStream>(), SizeIs(2));
}

TEST(WorkerLogic, TellsServersOfItsFailure) {
  WorkerHarness worker;
  worker.begin();
  worker.act(worker.logic->fail("ValueError: no such file"));
  EXPECT_EQ(worker.sent<frames::FailureT>(1)[0].text, "ValueError: no such file");
  EXPECT_EQ(worker.end, "ValueError: no such file");
}

/// It knows who this is: the hello stands before it.
TEST(WorkerLogic, TellsServersThatHaveNotAnswered) {
  WorkerHarness worker;
  worker.welcome(0);
  worker.act(worker.logic->fail("ValueError: no such file"));
  EXPECT_THAT(worker.sent<frames::FailureT>(1), SizeIs(1));
}

TEST(WorkerLogic, LosesAServerThatTakesAStreamAndIsSilent) {
  WorkerHarness worker;
  worker.welcome(0);
  worker.logic->accepted({1, 1}, worker.now);
  worker.pass(4000, {0});
  EXPECT_EQ(worker.end, "server 1 (two:6174) has been silent for 3 s");
}

TEST(WorkerLogic, LeavesWhenAllHasArrived) {
  WorkerHarness worker;
  worker.begin();
  worker.push(0, 1, 10);
  worker.act(worker.logic->finish(1));
  EXPECT_THAT(worker.sent<frames::GoodbyeT>(0), SizeIs(0));
  worker.acknowledge(1, 0, 1);
  ASSERT_THAT(worker.sent<frames::GoodbyeT>(0), SizeIs(1));
  EXPECT_EQ(worker.sent<frames::GoodbyeT>(1)[0].step, 1u);
  worker.receive(0, frames::GoodbyeT());
  EXPECT_EQ(worker.end, std::nullopt);
  worker.receive(1, frames::GoodbyeT());
  EXPECT_EQ(worker.end, "");
}

TEST(WorkerLogic, NeedsNoAnswerToItsGoodbyeOfAServerThatHasEnded) {
  WorkerHarness worker;
  worker.begin();
  worker.act(worker.logic->finish(0));
  worker.receive(0, frames::GoodbyeT());
  for (int i = 0; i < 4; ++i) {
    worker.breakStream(1);
    worker.pass(1300, {});
  }
  EXPECT_EQ(worker.end, "");
}

TEST(WorkerLogic, EndsWithWhatIsWrongWithAFrame) {
  struct Case {
    std::function<void(WorkerHarness &)> act;
    std::string text;
  };
  const Case cases[] = {
      {[](WorkerHarness &w) { w.answer(0, 1, 0); }, "has sent a value of block 1 that nobody has asked for"},
      {[](WorkerHarness &w) { w.answer(0, 0, 3); }, "has sent block \"a\" after 3 steps, expected 4"},
      {[](WorkerHarness &w) { w.answer(0, 0, 4, 8); },
       "has sent a value of block \"a\", which has 8 bytes, expected 4"},
      {[](WorkerHarness &w) { w.acknowledge(0, 0, 1); }, "acknowledges a push of block 1, which it has not"},
      {[](WorkerHarness &w) { w.acknowledge(0, 0, 99); },
       "acknowledges a push of block 99, which it has not"},
      {[](WorkerHarness &w) { w.receive(0, frames::WelcomeT()); }, "has sent Welcome twice"},
      {[](WorkerHarness &w) { w.receive(0, frames::GoodbyeT()); }, "has said goodbye, and nobody has before"},
      {[](WorkerHarness &w) { w.receive(0, frames::PushT()); },
       "has sent Push, which is no server's to send"},
      {[](WorkerHarness &w) { w.act(w.logic->received({0, 1}, {}, {}, w.now)); },
       "has sent a frame that is malformed"},
  };
  for (const Case &c : cases) {
    WorkerHarness worker;
    worker.begin();
    worker.pull(4, {0});
    c.act(worker);
    EXPECT_THAT(worker.end.value_or("no end"), HasSubstr("server 0 (one:6174) " + c.text));
  }
  WorkerHarness early, other;
  early.receive(0, frames::ReadyT());
  EXPECT_EQ(early.end, "server 0 (one:6174) has sent Ready before Welcome");
  frames::WelcomeT welcome;
  welcome.server = 1;
  other.receive(0, welcome);
  EXPECT_EQ(other.end, "server 0 (one:6174) says that it is server 1");
}

TEST(WorkerLogic, RefusesWhatItCannotDo) {
  WorkerHarness worker;
  EXPECT_EQ(errorOf([&] { worker.push(0, 0, 1); }), "worker 1 pushes before its first step");
  worker.begin(3);
  worker.pull(3, {0});
  EXPECT_EQ(errorOf([&] { worker.pull(3, {1, 0}); }), "block \"a\" is asked for twice at once");
  worker.pull(3, {1}); // which was not asked for
  EXPECT_EQ(errorOf([&] { worker.push(2, 0, 1); }),
            "worker 1 pushes step 2 of block \"a\", expected 3 or a later one");
  worker.push(3, 0, 1);
  EXPECT_EQ(errorOf([&] { worker.push(3, 0, 2); }),
            "worker 1 pushes step 3 of block \"a\", expected 4 or a later one");
  worker.act(worker.logic->finish(4));
  EXPECT_EQ(errorOf([&] { worker.pull(4, {1}); }), "worker 1 pulls after its last step");
  WorkerOptions options;
  EXPECT_EQ(errorOf([&] { WorkerLogic(worker.job, options, 0); }),
            "there are addresses of 0 servers, expected 2");
  options.addresses = {"a", "b"}, options.worker = 3;
  EXPECT_EQ(errorOf([&] { WorkerLogic(worker.job, options, 0); }), "this is worker 3, expected one below 3");
}

} // namespace
} // namespace epl::runtime::servers::test
