//===- NcclMistakesTest.cpp - Calls of wrong callers ----------------------===//
//
// What NCCL hangs at, or computes something of, is said; and nobody waits for ever.
//
//===----------------------------------------------------------------------===//

#include "test/unit/cuda/libraries/NcclFixture.h"

#include <chrono>
#include <thread>

using namespace nccl_double;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::UnorderedElementsAre;

namespace {

/// Two members in one thread, with eight numbers each.
class NcclMistakes : public testing::Test {
protected:
  void SetUp() override {
    eplCudaRestart(1);
    id = makeId();
    members = makeMembers(2, id);
    for (auto &each : members)
      at.push_back(each->put(std::vector<float>(8, float(each->number))));
  }
  void TearDown() override {
    eplCudaRestart(1);
    members.clear();
    EXPECT_FALSE(exists(id)) << "files of members are left";
    eplCudaRestart(1);
  }

  Member &first() { return *members[0]; }
  Member &second() { return *members[1]; }
  float *of(const Member &member) { return at[size_t(member.number)]; }

  static Status allReduce(Member &member, float *from, float *to, size_t count = 8) {
    return ncclAllReduce(from, to, count, DataType::f32, Reduction::sum, member.comm, member.stream);
  }
  Status allReduce(Member &member) { return allReduce(member, of(member), of(member)); }

  void waitForAll() {
    for (auto &each : members)
      EXPECT_EQ(each->wait(), CUDA_SUCCESS);
  }

  /// Members that ask for different things both know it, and what they had is as it was.
  template <typename One, typename Other> void differ(One one, Other other, const char *text) {
    SCOPED_TRACE(text);
    inGroup(members, [&](Member &member) {
      EXPECT_EQ(member.number == 0 ? one(member) : other(member), Status::success);
    });
    waitForAll();
    EXPECT_THAT(findings(), ElementsAre(text));
    for (auto &each : members) {
      EXPECT_EQ(each->getError(), Status::invalidUsage);
      EXPECT_EQ(allReduce(*each), Status::invalidUsage);
      EXPECT_EQ(each->get(of(*each), 8), std::vector<float>(8, float(each->number)));
    }
    TearDown();
    at.clear();
    SetUp();
  }

  UniqueId id;
  Members members;
  std::vector<float *> at;
};

} // namespace

TEST_F(NcclMistakes, CallsThatDiffer) {
  auto all = [&](DataType type, size_t count, Reduction reduction) {
    return [=, this](Member &member) {
      return ncclAllReduce(of(member), of(member), count, type, reduction, member.comm, member.stream);
    };
  };
  auto broadcast = [&](int root) {
    return [=, this](Member &member) {
      return ncclBroadcast(of(member), of(member), 8, DataType::f32, root, member.comm, member.stream);
    };
  };
  auto usual = all(DataType::f32, 8, Reduction::sum);
  differ(usual, all(DataType::f32, 7, Reduction::sum),
         "nccl: call 1 of member 0 is all-reduce of 8 f32 (sum), of member 1 all-reduce of 7 f32 (sum)");
  differ(usual, all(DataType::i32, 8, Reduction::sum),
         "nccl: call 1 of member 0 is all-reduce of 8 f32 (sum), of member 1 all-reduce of 8 i32 (sum)");
  differ(usual, all(DataType::f32, 8, Reduction::max),
         "nccl: call 1 of member 0 is all-reduce of 8 f32 (sum), of member 1 all-reduce of 8 f32 (max)");
  differ(usual, broadcast(1),
         "nccl: call 1 of member 0 is all-reduce of 8 f32 (sum), of member 1 broadcast of 8 f32 of member 1");
  differ(broadcast(0), broadcast(1),
         "nccl: call 1 of member 0 is broadcast of 8 f32 of member 0, of member 1 broadcast of 8 f32 of "
         "member 1");
}

TEST_F(NcclMistakes, MessagesThatDiffer) {
  inGroup(members, [&](Member &member) {
    if (member.number == 0)
      EXPECT_EQ(ncclSend(of(member), 8, DataType::f32, 1, member.comm, member.stream), Status::success);
    else
      EXPECT_EQ(ncclRecv(of(member), 7, DataType::f32, 0, member.comm, member.stream), Status::success);
  });
  waitForAll();
  EXPECT_THAT(findings(), ElementsAre("nccl: member 1 receives 7 f32 of member 0, which sends 8 f32"));
  EXPECT_EQ(second().getError(), Status::invalidUsage);
  EXPECT_EQ(first().getError(), Status::remoteError);
  EXPECT_EQ(second().get(of(second()), 8), std::vector<float>(8, 1));
}

/// A thread that does so waits for itself.
TEST_F(NcclMistakes, OneThreadOutsideOfAGroup) {
  first().use();
  EXPECT_EQ(allReduce(first()), Status::success);
  EXPECT_EQ(allReduce(second()), Status::success);
  waitForAll();
  EXPECT_THAT(findings(), ElementsAre("nccl: a thread that calls for several members calls for member 1 "
                                      "outside of a group"));
}

TEST_F(NcclMistakes, AThreadForEachOutsideOfGroupsIsNone) {
  for (auto &each : members)
    std::thread([&] { EXPECT_EQ(allReduce(*each), Status::success); }).join();
  waitForAll();
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(NcclMistakes, OperandsThatOverlap) {
  auto overlaps = [&](auto call, const char *name) {
    EXPECT_EQ(inGroup(members, call), Status::success);
    waitForAll();
    EXPECT_THAT(findings(), Contains(std::string("nccl: ") + name +
                                     " of member 1: what it writes overlaps what it reads or writes"));
    eplCudaRestart(1);
  };
  overlaps([&](Member &member) { allReduce(member, of(member), of(member) + 1, 4); },
           "all-reduce of 4 f32 (sum)");
  overlaps(
      [&](Member &member) {
        ncclBroadcast(of(member), of(member) + 1, 4, DataType::f32, 1, member.comm, member.stream);
      },
      "broadcast of 4 f32 of member 1");
  overlaps(
      [&](Member &member) {
        ncclAllGather(of(member), of(member), 4, DataType::f32, member.comm, member.stream);
      },
      "all-gather of 4 f32");
  overlaps(
      [&](Member &member) {
        ncclReduceScatter(of(member), of(member), 4, DataType::f32, Reduction::sum, member.comm,
                          member.stream);
      },
      "reduce-scatter of 4 f32 (sum)");
  EXPECT_EQ(inGroup(members,
                    [&](Member &member) {
                      ncclSend(of(member), 4, DataType::f32, member.number, member.comm, member.stream);
                      ncclRecv(of(member) + 3, 4, DataType::f32, member.number, member.comm, member.stream);
                    }),
            Status::success);
  waitForAll();
  EXPECT_THAT(findings(), Contains(HasSubstr("what it writes overlaps")));
}

TEST_F(NcclMistakes, StreamsThatCannotBe) {
  EXPECT_EQ(ncclAllReduce(of(first()), of(first()), 8, DataType::f32, Reduction::sum, first().comm, nullptr),
            Status::cudaError);
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("uses the NULL stream")));
  EXPECT_EQ(ncclAllReduce(of(first()), of(first()), 8, DataType::f32, Reduction::sum, first().comm,
                          second().stream),
            Status::cudaError);
  eplCudaRestart(1);
  Member other(5, 0);
  EXPECT_EQ(inGroup(members,
                    [&](Member &member) {
                      CUstream stream = member.number == 0 ? other.stream : member.stream;
                      ncclSend(of(member), 4, DataType::f32, member.number, member.comm, member.stream);
                      ncclRecv(of(member) + 4, 4, DataType::f32, member.number, member.comm, stream);
                    }),
            Status::invalidUsage);
  EXPECT_THAT(findings(), ElementsAre("nccl: messages of member 0 in one group are on different streams"));
}

/// On a card, which of them begins first would be chance, and another one on another member.
TEST_F(NcclMistakes, CollectivesThatNothingOrders) {
  Member other(5, 0);
  float *more = first().put(std::vector<float>(8, 0));
  inGroup(members, [&](Member &member) { allReduce(member); });
  inGroup(members, [&](Member &member) {
    CUstream stream = member.number == 0 ? other.stream : member.stream;
    float *operand = member.number == 0 ? more : of(member);
    ncclAllReduce(operand, operand, 8, DataType::f32, Reduction::sum, member.comm, stream);
  });
  waitForAll();
  EXPECT_EQ(other.wait(), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre(MatchesRegex("order: .*all-reduce.* wait for others on one device, and "
                                                   "nothing orders them")));
}

TEST_F(NcclMistakes, MemoryThatNobodyHasWritten) {
  float *result = first().allocate<float>(8);
  inGroup(members,
          [&](Member &member) { allReduce(member, member.number == 0 ? result : of(member), of(member)); });
  waitForAll();
  EXPECT_THAT(findings(),
              ElementsAre("unwritten: all-reduce of 8 f32 (sum) of member 0 reads bytes that nobody "
                          "has written"));
  eplCudaRestart(1);
  inGroup(members, [&](Member &member) { allReduce(member, of(member), of(member), 9); });
  EXPECT_EQ(first().wait(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(findings(), Contains(HasSubstr("4 bytes beyond the end of an allocation of 32")));
}

TEST_F(NcclMistakes, ArgumentsThatAreNone) {
  auto call = [&](float *from, DataType type, int reduction, int root) {
    return ncclReduce(from, from, 8, type, Reduction(reduction), root, first().comm, first().stream);
  };
  EXPECT_EQ(call(nullptr, DataType::f32, 0, 0), Status::invalidArgument);
  EXPECT_EQ(call(of(first()), DataType(10), 0, 0), Status::invalidArgument);
  EXPECT_EQ(call(of(first()), DataType::f32, 4, 0), Status::invalidArgument);
  EXPECT_EQ(call(of(first()), DataType::f32, 0, 2), Status::invalidArgument);
  EXPECT_EQ(ncclSend(of(first()), 1, DataType::f32, -1, first().comm, first().stream),
            Status::invalidArgument);
  EXPECT_EQ(ncclSend(of(first()), 1, DataType::f32, 0, nullptr, first().stream), Status::invalidArgument);
  EXPECT_EQ(ncclGroupEnd(), Status::invalidUsage);
  // Nothing of a group is done of which a call cannot be done.
  EXPECT_EQ(ncclGroupStart(), Status::success);
  EXPECT_EQ(allReduce(first()), Status::success);
  EXPECT_EQ(call(nullptr, DataType::f32, 0, 0), Status::invalidArgument);
  EXPECT_EQ(ncclGroupEnd(), Status::invalidArgument);
  EXPECT_EQ(first().wait(), CUDA_SUCCESS);
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_STREQ(ncclGetErrorString(Status::invalidArgument), "invalid argument");
  EXPECT_STREQ(ncclGetErrorString(Status(99)), "unknown result code");
}

TEST_F(NcclMistakes, GroupsInGroupsEndWithTheOuterOne) {
  EXPECT_EQ(ncclGroupStart(), Status::success);
  EXPECT_EQ(inGroup(members, [&](Member &member) { allReduce(member); }), Status::success);
  EXPECT_EQ(cuStreamQuery(first().stream), CUDA_SUCCESS); // nothing is enqueued
  EXPECT_EQ(ncclGroupEnd(), Status::success);
  EXPECT_EQ(cuStreamQuery(first().stream), CUDA_ERROR_NOT_READY);
  waitForAll();
  EXPECT_EQ(first().get(of(first()), 8), std::vector<float>(8, 1));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(NcclMistakes, WorkWithoutACommunicator) {
  inGroup(members, [&](Member &member) { allReduce(member); });
  EXPECT_EQ(ncclCommDestroy(std::exchange(first().comm, nullptr)), Status::success);
  waitForAll();
  EXPECT_THAT(findings(),
              UnorderedElementsAre("nccl: work of member 0 begins after its communicator was destroyed",
                                   "nccl: member 1 of 2 waits in call 1, all-reduce of 8 f32 (sum), "
                                   "for member 0, which has left and which has made no call"));
  EXPECT_EQ(second().getError(), Status::remoteError);
  EXPECT_EQ(ncclCommDestroy(first().comm), Status::invalidArgument);
}

TEST_F(NcclMistakes, DestructionUnderWork) {
  EXPECT_EQ(allReduce(first()), Status::success);
  EXPECT_EQ(cuStreamQuery(first().stream), CUDA_ERROR_NOT_READY); // it has begun
  EXPECT_EQ(ncclCommDestroy(std::exchange(first().comm, nullptr)), Status::success);
  EXPECT_EQ(first().wait(), CUDA_SUCCESS);
  EXPECT_THAT(findings(),
              ElementsAre("nccl: the communicator of member 0 is destroyed while its work waits"));
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Both are over at once, without a result; the other member knows why.
TEST_F(NcclMistakes, AreOverWhenOneAborts) {
  EXPECT_EQ(allReduce(first()), Status::success);
  EXPECT_EQ(allReduce(first(), of(first()), of(first())), Status::success);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(ncclCommAbort(std::exchange(first().comm, nullptr)), Status::success);
  });
  EXPECT_EQ(first().wait(), CUDA_SUCCESS);
  other.join();
  EXPECT_EQ(first().get(of(first()), 8), std::vector<float>(8, 0));
  // The one that is left has come to the first call, too, so that this one is over; not so the next one.
  std::thread([&] {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(allReduce(second()), Status::success);
    EXPECT_EQ(second().wait(), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(second().getError(), Status::remoteError);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(NcclMistakes, AreOverWhenTheyHaveWaitedForTooLong) {
  Patience patience("1");
  inGroup(members, [&](Member &member) { allReduce(member); });
  inGroup(members, [&](Member &member) {
    if (member.number == 0)
      ncclBroadcast(of(member), of(member), 4, DataType::f32, 0, member.comm, member.stream);
  });
  testing::internal::CaptureStderr();
  EXPECT_EQ(first().wait(), CUDA_SUCCESS);
  const char *text =
      "member 0 of 2 waits in call 2, broadcast of 4 f32 of member 0, for member 1, whose last one "
      "is call 1, all-reduce of 8 f32 (sum)";
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(text));
  EXPECT_THAT(findings(), ElementsAre("nccl: " + std::string(text)));
  EXPECT_EQ(first().getError(), Status::systemError);
  EXPECT_EQ(allReduce(first()), Status::systemError);
}

/// One waits in a collective, the other one to be received from.
TEST_F(NcclMistakes, SayWhoWaitsForWhom) {
  Patience patience("1");
  inGroup(members, [&](Member &member) {
    if (member.number == 0)
      allReduce(member);
    else
      ncclSend(of(member), 2, DataType::f32, 0, member.comm, member.stream);
  });
  waitForAll();
  const char *either = "nccl: member 0 of 2 waits in call 1, all-reduce of 8 f32 .sum., for member 1, which "
                       "waits in send of 2 f32 "
                       "to member 0|nccl: member 1 of 2 waits in send of 2 f32 to member 0, for member 0, "
                       "whose last one is call 1, "
                       "all-reduce of 8 f32 .sum.";
  EXPECT_THAT(findings(), ElementsAre(MatchesRegex(either)));
  std::set<Status> errors = {first().getError(), second().getError()};
  EXPECT_THAT(errors, ElementsAre(Status::systemError, Status::remoteError));
}
