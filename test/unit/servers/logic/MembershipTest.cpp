// What a worker tells its servers before there is a job.

#include "runtime/servers/logic/Membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace epl::runtime::servers::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// A worker with two servers, of which tests write the frames by hand.
class Member {
public:
  Member() : membership(optionsOf(), {"one:6174", "two:6174"}, now) { act(membership.tick(now)); }

  void receive(uint32_t server, const Message &message) {
    act(membership.received(streams.at(server), encode(message), {}, now));
  }
  /// Time passes, with heartbeats of these servers.
  void pass(Milliseconds time, const std::vector<uint32_t> &beating) {
    for (Milliseconds until = now + time; now < until; now += 200) {
      for (uint32_t server : beating)
        receive(server, frames::HeartbeatT());
      act(membership.tick(now));
    }
  }
  void act(const Membership::Actions &actions) {
    for (const GatherAction &action : actions) {
      if (auto *open = std::get_if<gather_actions::OpenStream>(&action))
        streams[linkOf(open->stream).server] = open->stream;
      if (auto *frame = std::get_if<gather_actions::SendFrame>(&action))
        frames[linkOf(frame->stream).server].push_back(std::get<Message>(decode(frame->head, 0)));
      if (auto *close = std::get_if<gather_actions::CloseStream>(&action))
        closed.push_back(linkOf(close->stream).server);
    }
  }
  template <typename T> std::vector<T> sent(uint32_t server) const {
    std::vector<T> result;
    for (const Message &message : frames.at(server))
      if (auto *found = std::get_if<T>(&message))
        result.push_back(*found);
    return result;
  }

  Milliseconds now = 1000;
  Membership membership;
  std::map<uint32_t, uint64_t> streams; ///< the last to each server
  std::map<uint32_t, std::vector<Message>> frames;
  std::vector<uint32_t> closed; ///< servers

private:
  static GatherOptions optionsOf() {
    GatherOptions options;
    options.worker = 1, options.workers = 3;
    return options;
  }
};

TEST(Membership, JoinsAllServers) {
  Member member;
  for (uint32_t server : {0, 1}) {
    ASSERT_THAT(member.sent<frames::JoinT>(server), SizeIs(1));
    EXPECT_EQ(member.sent<frames::JoinT>(server)[0].worker, 1u);
    EXPECT_EQ(member.membership.first(), std::nullopt);
    member.receive(server, frames::JoinedT());
  }
  EXPECT_EQ(member.membership.first(), 0u);
}

TEST(Membership, SaysWhetherTheJobGoesOn) {
  Member member;
  for (uint32_t server : {0, 1})
    member.receive(server, frames::JoinedT());
  member.pass(1200, {0, 1});
  member.membership.knows(/*goesOn=*/true);
  member.pass(1200, {0, 1});
  for (uint32_t server : {0, 1}) {
    std::vector<frames::HeartbeatT> beats = member.sent<frames::HeartbeatT>(server);
    ASSERT_THAT(beats, SizeIs(2));
    EXPECT_FALSE(beats[0].goes_on);
    EXPECT_TRUE(beats[1].goes_on);
  }
}

/// One that has not said a word: it has taken the stream.
TEST(Membership, TellsTheOthersOfAServerThatIsLost) {
  Member member;
  member.receive(0, frames::JoinedT());
  member.membership.accepted(member.streams[1], member.now);
  member.pass(4000, {0});
  EXPECT_EQ(member.membership.error(), "server 1 (two:6174) has been silent for 3 s");
  ASSERT_THAT(member.sent<frames::FailureT>(0), SizeIs(1));
  EXPECT_EQ(member.sent<frames::FailureT>(0)[0].text, member.membership.error());
  EXPECT_TRUE(member.sent<frames::FailureT>(0)[0].of_server);
  EXPECT_THAT(member.closed, testing::UnorderedElementsAre(0, 1));
}

TEST(Membership, HasPatienceWithAServerThatHasNotBeenThere) {
  Member member;
  member.receive(0, frames::JoinedT());
  member.pass(60'000, {0});
  EXPECT_EQ(member.membership.error(), "");
}

TEST(Membership, TellsTheOthersWhatOneHasEndedWith) {
  Member member;
  for (uint32_t server : {0, 1})
    member.receive(server, frames::JoinedT());
  frames::FailureT failure;
  failure.text = "server 1: worker 2 has been silent for 3 s";
  member.receive(1, failure);
  ASSERT_THAT(member.sent<frames::FailureT>(0), SizeIs(1));
  EXPECT_THAT(member.sent<frames::FailureT>(0)[0].text, HasSubstr("worker 2 has been silent"));
}

TEST(Membership, TellsAllServersWhyTheWorkerFails) {
  Member member;
  member.receive(0, frames::JoinedT());
  member.act(member.membership.leave("ValueError: no such file"));
  for (uint32_t server : {0, 1}) { // who has not answered yet, too
    ASSERT_THAT(member.sent<frames::FailureT>(server), SizeIs(1));
    EXPECT_EQ(member.sent<frames::FailureT>(server)[0].text, "ValueError: no such file");
    EXPECT_FALSE(member.sent<frames::FailureT>(server)[0].of_server);
  }
  EXPECT_EQ(member.membership.error(), "ValueError: no such file");
}

TEST(Membership, LeavesWithoutAWord) {
  Member member;
  member.act(member.membership.leave(""));
  EXPECT_THAT(member.sent<frames::FailureT>(0), SizeIs(0));
  EXPECT_THAT(member.closed, testing::UnorderedElementsAre(0, 1));
}

} // namespace
} // namespace epl::runtime::servers::test
