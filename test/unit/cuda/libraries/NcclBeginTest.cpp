//===- NcclBeginTest.cpp - How members come together ----------------------===//

#include "test/unit/cuda/libraries/NcclFixture.h"

#include "test/cuda/libraries/nccl/Place.h"

#include <span>
#include <sys/wait.h>
#include <thread>

using namespace nccl_double;
using testing::HasSubstr;

namespace {

/// Begins members in one group: what that says, on stderr too.
struct Begun {
  Status status;
  std::string text;
};

Begun begin(std::span<const std::pair<int, int>> numbersAndCounts, UniqueId id, bool onOneDevice = false) {
  Members members;
  testing::internal::CaptureStderr();
  EXPECT_EQ(ncclGroupStart(), Status::success);
  for (auto [number, count] : numbersAndCounts) {
    members.push_back(std::make_unique<Member>(number, onOneDevice ? 0 : number));
    members.back()->begin(count, id);
  }
  Status status = ncclGroupEnd();
  for (auto &each : members)
    EXPECT_EQ(each->comm == nullptr, status != Status::success);
  return {status, testing::internal::GetCapturedStderr()};
}

using Said = std::vector<std::pair<int, int>>;

class NcclBegin : public testing::Test {
protected:
  void SetUp() override { eplCudaRestart(1); }
  void TearDown() override { EXPECT_FALSE(exists(id)) << "files of members are left"; }

  const UniqueId id = makeId();
  Patience patience{"1"};
};

} // namespace

TEST_F(NcclBegin, WaitsForAll) {
  Members members;
  for (int number = 0; number < 3; ++number)
    members.push_back(std::make_unique<Member>(number));
  std::vector<std::thread> threads;
  for (auto &each : members)
    threads.emplace_back([&, member = each.get()] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * member->number));
      EXPECT_EQ(member->begin(3, id), Status::success);
    });
  for (std::thread &each : threads)
    each.join();
}

TEST_F(NcclBegin, SaysWhoIsMissing) {
  auto [status, text] = begin(Said{{0, 3}}, id);
  EXPECT_EQ(status, Status::systemError);
  EXPECT_THAT(text, HasSubstr("member 0 of 3 has waited 1 s for member 1, member 2 to come"));
}

TEST_F(NcclBegin, RefusesTwoOnADevice) {
  auto [status, text] = begin(Said{{0, 2}, {1, 2}}, id, true);
  EXPECT_EQ(status, Status::invalidUsage);
  EXPECT_THAT(text, HasSubstr("members 0 and 1 are on one device, 0"));
}

TEST_F(NcclBegin, RefusesDifferentCounts) {
  auto [status, text] = begin(Said{{0, 2}, {1, 3}}, id);
  EXPECT_EQ(status, Status::invalidUsage);
  EXPECT_THAT(text, HasSubstr("member 1 is one of 3, member 0 one of 2"));
}

TEST_F(NcclBegin, RefusesAMemberThatComesTwice) {
  Members members = makeMembers(2, id);
  auto [status, text] = begin(Said{{1, 2}}, id);
  EXPECT_EQ(status, Status::invalidUsage);
  EXPECT_THAT(text, HasSubstr("member 1 of a communicator comes twice"));
  EXPECT_TRUE(exists(id)); // those who were there are not disturbed
}

TEST_F(NcclBegin, RefusesAnIdOfNothing) {
  {
    Members members = makeMembers(1, id);
  }
  auto [status, text] = begin(Said{{0, 1}}, id);
  EXPECT_EQ(status, Status::invalidUsage);
  EXPECT_THAT(text, HasSubstr("no communicator has this id any more"));
}

TEST_F(NcclBegin, RefusesNumbersThatAreNone) {
  Member member(0);
  for (auto [number, count] : Said{{-1, 2}, {2, 2}, {0, 0}}) {
    Comm comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, count, id, number), Status::invalidArgument);
  }
  {
    Members members = makeMembers(1, id);
  }
}

/// Others do not wait for a member that could not begin.
TEST_F(NcclBegin, FailsForAll) {
  Member first(0), second(0, 1);
  std::thread other([&] { EXPECT_EQ(first.begin(3, id), Status::invalidUsage); });
  while (!Place(id.bytes).has("member.0"))
    std::this_thread::yield();
  Members wrong;
  wrong.push_back(std::make_unique<Member>(1, 0)); // where the first one is
  EXPECT_EQ(wrong[0]->begin(3, id), Status::invalidUsage);
  other.join();
}

/// Which is how NCCL connects them. Who waits is freed by an abort from another thread.
TEST_F(NcclBegin, WaitsInTheFirstCollective) {
  setenv("EPL_NCCL_CONNECTS", "1", 1);
  Members members = makeMembers(2, id);
  auto sum = [](Member &member) {
    float *at = member.put(std::vector<float>(4, 1));
    return ncclAllReduce(at, at, 4, DataType::f32, Reduction::sum, member.comm, member.stream);
  };
  std::atomic<bool> isOver = false;
  std::thread other([&] {
    EXPECT_EQ(sum(*members[0]), Status::remoteError);
    isOver = true;
  });
  while (!Place(id.bytes).has("connects.0"))
    std::this_thread::yield();
  EXPECT_FALSE(isOver);
  ncclCommAbort(std::exchange(members[0]->comm, nullptr));
  other.join();
  unsetenv("EPL_NCCL_CONNECTS");
}

TEST_F(NcclBegin, ConnectsInTheFirstCollective) {
  setenv("EPL_NCCL_CONNECTS", "1", 1);
  Members members = makeMembers(2, id);
  std::vector<float *> at;
  for (auto &each : members)
    at.push_back(each->put(std::vector<float>(4, 1)));
  auto sum = [&](Member &member) {
    float *own = at[size_t(member.number)];
    return ncclAllReduce(own, own, 4, DataType::f32, Reduction::sum, member.comm, member.stream);
  };
  EXPECT_EQ(inGroup(members, sum), Status::success);
  for (auto &each : members)
    EXPECT_EQ(each->get(at[size_t(each->number)], 4), std::vector<float>(4, 2));
  unsetenv("EPL_NCCL_CONNECTS");
}

/// The last one to leave does not wait for those who have died.
TEST_F(NcclBegin, LeavesNothingOfProcessesThatDied) {
  pid_t process = fork();
  ASSERT_GE(process, 0);
  if (process == 0) {
    Member member(1);
    _exit(member.begin(2, id) == Status::success ? 0 : 1);
  }
  Member member(0);
  EXPECT_EQ(member.begin(2, id), Status::success);
  int status = 0;
  waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
}
