// Whom a server refuses, and what it says of frames that it cannot take.

#include "test/unit/servers/logic/ServerHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers::test {
namespace {

using manifest::Mode;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ServerFaults, RefusesStrangers) {
  struct Case {
    std::function<void(frames::HelloT &)> change;
    std::string text;
  };
  const Case cases[] = {
      {[](frames::HelloT &hello) { hello.protocol = 9; },
       "worker 0 speaks version 9 of the protocol, expected 3"},
      {[](frames::HelloT &hello) { hello.server = 1; },
       "worker 0 takes this for server 1: its endpoints are in another order, or of another job"},
      {[](frames::HelloT &hello) { hello.worker = 1, hello.job_low ^= 1; }, ", expected "},
      {[](frames::HelloT &hello) { hello.worker = 1, hello.workers = 7; },
       "worker 1 says that there are 7 workers, expected 2"},
      {[](frames::HelloT &hello) { hello.worker = 1, hello.stream = 1; },
       "worker 1 has opened another stream since"},
      {[](frames::HelloT &hello) { hello.worker = 1, hello.life = 0; },
       "worker 1 has been started again since"},
  };
  for (const Case &c : cases) {
    ServerHarness server(makeScalar(Mode::sync));
    server.setUp();
    StreamId stream = server.greet(c.change);
    EXPECT_THAT(server.failure(stream),
                HasSubstr("server 0: " + c.text.substr(c.text.front() == ',' ? 11 : 0)));
    EXPECT_THAT(server.failure(stream), HasSubstr(c.text));
    EXPECT_THAT(server.closed, ElementsAre(stream));
    EXPECT_EQ(server.end, std::nullopt);
  }
}

TEST(ServerFaults, RefusesWhoCameBeforeWorkerZeroWithAnotherManifest) {
  ServerHarness server(makeScalar(Mode::sync));
  StreamId stranger = server.greet([](frames::HelloT &hello) { hello.worker = 1, hello.job_low ^= 1; });
  EXPECT_EQ(server.failure(stranger), "");
  server.greet(0);
  EXPECT_THAT(server.failure(stranger), HasSubstr("as worker 0: do all run the same script?"));
  server.greet(1);
  EXPECT_EQ(server.failure(server.streams[1]), "");
}

TEST(ServerFaults, AwaitsAllTensorsOfAPush) {
  manifest::ManifestT manifest = makeScalar(Mode::sync);
  addNumber(manifest);
  ServerHarness server(manifest);
  server.setUp();
  server.push(1, 0, 0, 1); // the gradient alone
  EXPECT_THAT(server.end.value_or(""),
              HasSubstr("pushes a gradient of block \"w\", which has 4 bytes, expected 68"));
}

TEST(ServerFaults, EndsWithWhatIsWrongWithAFrame) {
  struct Case {
    std::function<void(ServerHarness &)> act;
    std::string text;
  };
  frames::PushT large;
  large.total = 8;
  const Case cases[] = {
      {[](ServerHarness &s) { s.push(1, 0, 3, 1); }, "pushes block 3, which this server has not"},
      {[](ServerHarness &s) { s.push(1, 4, 0, 1); }, "pushes step 4 of block \"w\", which is at step 0"},
      {[&](ServerHarness &s) { s.receive(s.streams[1], large, std::vector<std::byte>(8)); },
       "pushes a gradient of block \"w\", which has 8 bytes, expected 4"},
      {[](ServerHarness &s) { s.pull(1, {{0, 9}}); }, "asks for block 9, which this server has not"},
      {[](ServerHarness &s) { s.pull(1, {{7, 0}, {7, 0}}); }, "asks twice for block \"w\""},
      {[](ServerHarness &s) {
         frames::FetchT fetch;
         fetch.state = 2;
         s.receive(s.streams[1], fetch);
       },
       "asks for state 2 of block \"w\", which has 2"},
      {[](ServerHarness &s) { s.begin(1, 3); }, "begins in step 3, expected 0"},
      {[](ServerHarness &s) { s.leave(1, 1); },
       "leaves before step 1 and has not pushed step 0 of block \"w\""},
      {[](ServerHarness &s) { s.receive(s.streams[1], frames::WelcomeT()); },
       "has sent Welcome, which is no worker's to send"},
      {[](ServerHarness &s) { s.receive(s.streams[1], frames::SetupT()); },
       "sets up the job, which is worker 0's to do"},
      {[](ServerHarness &s) { s.act(s.logic.received(s.streams[1], {}, {}, s.now)); },
       "has sent a frame that is malformed"},
  };
  for (const Case &c : cases) {
    ServerHarness server(makeScalar(Mode::sync));
    server.setUp();
    c.act(server);
    EXPECT_THAT(server.end.value_or("no end"), testing::StartsWith("server 0: worker 1 " + c.text));
  }
}

TEST(ServerFaults, WantsTheJobAsItWasNamed) {
  auto endOf = [](const frames::SetupT &setup, size_t payload) {
    ServerHarness server(makeScalar(Mode::sync));
    server.greet(0);
    server.receive(server.streams[0], setup, std::vector<std::byte>(payload));
    return server.end.value_or("no end");
  };
  frames::SetupT plan, manifest;
  plan.kind = frames::SetupKind::plan;
  manifest.total = 8;
  EXPECT_EQ(endOf(plan, 0), "server 0: worker 0 sets up plan 0, expected manifest");
  EXPECT_THAT(endOf(manifest, 8), HasSubstr("worker 0 sets up a manifest with hash "));
}

TEST(ServerFaults, WantsHelloFirst) {
  ServerHarness server(makeScalar(Mode::sync));
  server.receive(77, frames::ReadyT());
  EXPECT_EQ(server.failure(77), "server 0: expected Hello as the first frame of a stream");
  EXPECT_THAT(server.closed, ElementsAre(77));
}

TEST(ServerFaults, TellsAllWhatHasFailed) {
  ServerHarness server(makeScalar(Mode::async));
  server.setUp();
  server.act(server.logic.failed("the gradient of block \"w\" from worker 1 is not finite"));
  EXPECT_EQ(server.end, "server 0: the gradient of block \"w\" from worker 1 is not finite");
  EXPECT_EQ(server.failure(server.streams[1]), server.end);
}

} // namespace
} // namespace epl::runtime::servers::test
