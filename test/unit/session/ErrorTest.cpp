#include "Tensors.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Buffer = std::shared_ptr<StateBuffer>;

/// A step that fails on the rank that its argument names (-1: on none), before an all-reduce of all ranks.
class ErrorTest : public testing::TestWithParam<uint32_t> {
protected:
  static std::shared_ptr<const plan::PlanT> makePlan(uint32_t ranks) {
    TestPlan plan(ranks);
    plan.slot(SlotRole::state, "n", ElementType::i64, {1});
    plan.slot(SlotRole::constant, "bad_rank", ElementType::i64, {1});
    plan.slot(SlotRole::result, "n", ElementType::i64, {1}, {}, 0);
    plan.slot(SlotRole::result, "sum", ElementType::i64, {1});
    uint32_t n = plan.slotBuffer(0), bad = plan.slotBuffer(1), sum = plan.slotBuffer(3);
    uint32_t first = plan.launch("increment", 1, {n, n});
    uint32_t second = plan.launch("fail", 1, {bad}, {after(first)});
    plan.allReduce(plan::ReductionKind::sum, ElementType::i64, n, sum, 1, {afterMembers(second)});
    return plan.finish();
  }

  Outcome call(const Argument &n, int64_t badRank) {
    return session.call({n, integers({badRank})}, {true, true}, "train_step");
  }

  Session session{makePlan(GetParam()), devices(GetParam())};
};

TEST_P(ErrorTest, NamesCommandSourceAndRankAndCancelsAllLanes) {
  int64_t last = GetParam() - 1;
  Outcome outcome = call(integers({0}), last);
  auto message = ThrowsMessage<Error>("call 1 of train_step failed: command \"fail\" of model.py:2 on rank " +
                                      std::to_string(last) + ": as asked");
  EXPECT_THAT([&] { outcome.call->wait(); }, message);
  EXPECT_THAT([&] { std::get<std::shared_ptr<HostResult>>(outcome.results[1])->get(); }, message);
}

TEST_P(ErrorTest, AFailedStepPoisonsWhatItWrote) {
  Outcome failed = call(integers({0}), 0);
  failed.call->waitForEnd();
  Buffer lost = std::get<Buffer>(failed.results[0]);
  auto message =
      ThrowsMessage<Error>(HasSubstr("state \"n\" is lost: call 1 of train_step failed: command \"fail\""));
  EXPECT_THAT([&] { call(lost, -1); }, message);
  EXPECT_THAT([&] { lost->copyToHost(); }, ThrowsMessage<Error>(HasSubstr("call 1 of train_step failed")));
}

TEST_P(ErrorTest, StepsQueuedBehindAFailureFailWithIt) {
  Outcome first = call(integers({0}), 0);
  Outcome last = first;
  try {
    for (int repeat = 0; repeat < 3; ++repeat)
      last = call(std::get<Buffer>(last.results[0]), -1);
  } catch (const Error &error) {
    // The failure was known when the next step was called.
    EXPECT_THAT(error.what(), HasSubstr("call 1 of train_step failed"));
    return;
  }
  EXPECT_THAT([&] { last.call->wait(); }, ThrowsMessage<Error>(HasSubstr("call 1 of train_step failed")));
}

TEST_P(ErrorTest, TheSessionLivesOn) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_THROW(call(integers({0}), repeat % GetParam()).call->wait(), Error);
    Outcome outcome = call(integers({repeat}), -1);
    EXPECT_EQ(elements<int64_t>(outcome.results[1]),
              std::vector<int64_t>{(repeat + 1) * int64_t(GetParam())});
  }
}

TEST_P(ErrorTest, WhatWasCopiedSurvives) {
  Buffer n = session.state(0, integers({7}));
  Outcome failed = session.call({n, integers({0})}, {false, false}, "train_step");
  EXPECT_THROW(failed.call->wait(), Error);
  EXPECT_EQ(elements<int64_t>(n->toHost()), std::vector<int64_t>{7});
}

INSTANTIATE_TEST_SUITE_P(Ranks, ErrorTest, testing::Values(1, 2, 3, 8));

TEST(Cancel, EndsARunningStepAndPoisonsItsState) {
  TestPlan plan(2);
  plan.slot(SlotRole::state, "n", ElementType::i64, {1});
  plan.slot(SlotRole::constant, "gate", ElementType::i64, {1});
  plan.slot(SlotRole::result, "n", ElementType::i64, {1}, {}, 0);
  uint32_t n = plan.slotBuffer(0);
  uint32_t wait = plan.launch("wait_at_gate", 1, {plan.slotBuffer(1)});
  plan.launch("increment", 1, {n, n}, {after(wait)}, plan.lane(plan::LaneKind::compute));
  Session session(plan.finish(), "cpu:2");
  HostTensor gate = integers({0});
  Outcome outcome = session.call({integers({0}), gate}, {false, false}, "step");
  outcome.call->cancel("interrupted");
  outcome.call->cancel("too late");
  EXPECT_FALSE(outcome.call->done());
  reinterpret_cast<std::atomic<int64_t> *>(gate.data)->store(1);
  EXPECT_THAT([&] { outcome.call->wait(); }, ThrowsMessage<Error>("call 1 of step failed: interrupted"));
  EXPECT_THAT([&] { std::get<Buffer>(outcome.results[0])->toHost(); },
              ThrowsMessage<Error>("state \"n\" is lost: call 1 of step failed: interrupted"));
}

TEST(Cancel, DoesNothingToAnEndedCall) {
  TestPlan plan(1);
  Session session(plan.finish(), "cpu:1");
  Outcome outcome = session.call({}, {}, "step");
  outcome.call->wait();
  outcome.call->cancel("too late");
  EXPECT_NO_THROW(outcome.call->wait());
}

} // namespace
} // namespace epl::runtime::test
