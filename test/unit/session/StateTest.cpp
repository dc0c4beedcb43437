#include "Tensors.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <optional>
#include <thread>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Buffer = std::shared_ptr<StateBuffer>;

/// Steps that add 1 to two states, on two ranks.
class StateTest : public testing::Test {
protected:
  static std::shared_ptr<const plan::PlanT> makePlan(const Sharding &sharding) {
    TestPlan plan(2);
    plan.slot(SlotRole::state, "a", ElementType::i64, {4}, sharding);
    plan.slot(SlotRole::state, "b", ElementType::i64, {4}, sharding);
    plan.slot(SlotRole::result, "a", ElementType::i64, {4}, sharding, 0);
    plan.slot(SlotRole::result, "b", ElementType::i64, {4}, sharding, 1);
    for (uint32_t slot : {0, 1}) {
      uint32_t buffer = plan.slotBuffer(slot);
      plan.launch("increment", int64_t(plan.plan.buffers[buffer]->size / 8), {buffer, buffer});
    }
    return plan.finish();
  }

  std::pair<Buffer, Buffer> call(const Argument &a, const Argument &b, bool donate = true) {
    Outcome outcome = session.call({a, b}, {donate, donate}, "train_step");
    return {std::get<Buffer>(outcome.results[0]), std::get<Buffer>(outcome.results[1])};
  }

  static std::vector<int64_t> values(const Buffer &buffer) { return elements<int64_t>(buffer->toHost()); }

  Session session{makePlan({}), "cpu:2"};
  const std::vector<int64_t> zeros{0, 0, 0, 0}, ones{1, 1, 1, 1}, twos{2, 2, 2, 2};
};

TEST_F(StateTest, DonatedStateIsUpdatedInPlace) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  const std::byte *memory = a->toHost().data;
  auto [a2, b2] = call(a, b);
  EXPECT_EQ(a2->toHost().data, memory);
  EXPECT_EQ(values(a2), twos);
  EXPECT_TRUE(a->isDonated());
  EXPECT_FALSE(a2->isDonated());
}

TEST_F(StateTest, ASnapshotStaysWhenAStepConsumesTheValue) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  const std::byte *memory = a->toHost().data;
  Buffer snapshot = a->snapshot();
  auto [a2, b2] = call(a, b);
  EXPECT_EQ(values(a2), twos);
  EXPECT_EQ(values(snapshot), ones);
  EXPECT_EQ(snapshot->toHost().data, memory);
  EXPECT_THROW(a->snapshot(), DonatedError);
  snapshot = nullptr;
  memory = a2->toHost().data;
  EXPECT_EQ(call(a2, b2).first->toHost().data, memory); // in place again
}

TEST_F(StateTest, ACopyIsMadeInMemoryThatAnEarlierSaveHasRead) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  const std::byte *first = a->toHost().data;
  Buffer saved = a->snapshot();
  std::tie(a, b) = call(a, b);
  const std::byte *second = a->toHost().data;
  std::tie(a, b) = call(a, b);
  EXPECT_EQ(a->toHost().data, second); // in place, with the spare memory behind it
  saved = a->snapshot();               // the first one is read by nobody from here on
  std::tie(a, b) = call(a, b);
  EXPECT_EQ(a->toHost().data, first);
  EXPECT_EQ(values(a), (std::vector<int64_t>{4, 4, 4, 4}));
  EXPECT_EQ(values(saved), (std::vector<int64_t>{3, 3, 3, 3}));
  Buffer other = a->snapshot(); // while the second one is still read
  std::tie(a, b) = call(a, b);
  EXPECT_NE(a->toHost().data, second);
  EXPECT_EQ(values(saved), (std::vector<int64_t>{3, 3, 3, 3}));
  EXPECT_EQ(values(other), (std::vector<int64_t>{4, 4, 4, 4}));
}

TEST_F(StateTest, AnotherThreadReadsWhatWasSavedAndLetsGoOfIt) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  std::optional<std::jthread> reader; // has read what was saved before the next save begins, as orbax has
  for (int64_t save = 1; save <= 200; ++save) {
    reader.reset();
    reader.emplace([saved = a->snapshot(), save]() mutable {
      EXPECT_EQ(values(saved), std::vector<int64_t>(4, 3 * save - 2));
      saved = nullptr;
    });
    for (int step = 0; step < 3; ++step)
      std::tie(a, b) = call(a, b);
  }
  EXPECT_EQ(values(a), std::vector<int64_t>(4, 601));
}

TEST_F(StateTest, SpareMemoryIsThatOfOneValueAndGoesWithIt) {
  size_t before = Memory::liveBytes();
  {
    auto [a, b] = call(integers(zeros), integers(zeros));
    size_t one = Memory::liveBytes() - before;
    for (int save = 0; save < 5; ++save) {
      Buffer savedA = a->snapshot(), savedB = b->snapshot();
      std::tie(a, b) = call(a, b);
      a->wait();
      EXPECT_LE(Memory::liveBytes() - before, 2 * one);
    }
  }
  session.synchronize();
  EXPECT_EQ(Memory::liveBytes(), before);
}

TEST_F(StateTest, OnlyWhatIsBeingSavedLeavesSpareMemory) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  session.synchronize();
  size_t before = Memory::liveBytes();
  a->snapshot(); // a save that is over
  HostTensor view = a->toHost();
  std::tie(a, b) = call(a, b);
  session.synchronize();
  EXPECT_GT(Memory::liveBytes(), before); // what the view shows
  view = {};
  EXPECT_EQ(Memory::liveBytes(), before);
}

TEST_F(StateTest, ARestoreIsMadeInSpareMemory) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  const std::byte *first = a->toHost().data;
  Buffer saved = a->snapshot();
  std::tie(a, b) = call(a, b);
  a->wait();
  saved = nullptr;
  EXPECT_EQ(a->makeAlike()->toHost().data, first);
  EXPECT_NE(a->makeAlike()->toHost().data, first);
}

TEST_F(StateTest, ANewValueIsWhatIsWrittenIntoItsShards) {
  for (const Sharding &sharding : {Sharding{}, Sharding{{"data"}}}) {
    Session other{makePlan(sharding), "cpu:2"};
    for (const Buffer &value : {other.newState(0), other.newState(1)->makeAlike()}) {
      {
        auto [shards, owner] = value->shards();
        EXPECT_EQ(shards.size(), 2u);
        EXPECT_EQ(shards[1].copy, sharding.empty() ? 1u : 0u);
        for (const Shard &shard : shards)
          for (size_t i = 0; i < shard.box.dims[0].extent; ++i)
            reinterpret_cast<int64_t *>(shard.data)[i] = int64_t(shard.box.dims[0].begin + i);
      }
      EXPECT_EQ(values(value), (std::vector<int64_t>{0, 1, 2, 3}));
      Outcome outcome = other.call({value, integers(zeros)}, {true, true}, "train_step");
      EXPECT_EQ(values(std::get<Buffer>(outcome.results[0])), (std::vector<int64_t>{1, 2, 3, 4}));
    }
  }
  EXPECT_THAT([&] { session.newState(2); }, ThrowsMessage<Error>("slot 2 of the plan is no argument"));
}

TEST_F(StateTest, UseAfterDonationNamesTheCall) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  call(a, b);
  auto message = ThrowsMessage<Error>("state \"a\" was donated by call 2 of train_step");
  EXPECT_THAT([&] { a->toHost(); }, message);
  EXPECT_THAT([&] { a->copyToHost(); }, message);
  EXPECT_THAT([&] { call(a, integers(zeros)); }, message);
}

TEST_F(StateTest, AFailedCheckConsumesNothing) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  EXPECT_THROW(call(a, HostTensor::allocate({ElementType::i64, {5}})), Error);
  EXPECT_EQ(values(a), ones);
}

TEST_F(StateTest, WithoutDonationTheOldValueStays) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  auto [a2, b2] = call(a, b, false);
  EXPECT_EQ(values(a), ones);
  EXPECT_EQ(values(a2), twos);
  EXPECT_NE(a->toHost().data, a2->toHost().data);
}

TEST_F(StateTest, AHostArrayIsCopied) {
  HostTensor host = integers(zeros);
  auto [a, b] = call(host, host);
  EXPECT_EQ(values(a), ones);
  EXPECT_EQ(elements<int64_t>(host), zeros);
}

TEST_F(StateTest, AViewKeepsItsValue) {
  auto [a, b] = call(integers(zeros), integers(zeros));
  HostTensor view = a->toHost();
  auto [a2, b2] = call(a, b);
  EXPECT_EQ(values(a2), twos);
  EXPECT_EQ(elements<int64_t>(view), ones);
  EXPECT_TRUE(a->isDonated()); // the value is gone for steps all the same
}

TEST_F(StateTest, AViewOutlivesItsState) {
  HostTensor view;
  {
    auto [a, b] = call(integers(zeros), integers(zeros));
    view = a->toHost();
  }
  EXPECT_EQ(elements<int64_t>(view), ones);
}

TEST_F(StateTest, OneValueInTwoPlacesIsCopied) {
  Buffer a = call(integers(zeros), integers(zeros)).first;
  auto [a2, b2] = call(a, a);
  EXPECT_EQ(values(a2), twos);
  EXPECT_EQ(values(b2), twos);
  EXPECT_NE(a2->toHost().data, b2->toHost().data);
  EXPECT_EQ(values(a), ones); // and not consumed
  auto [a3, b3] = call(a2, b2);
  EXPECT_EQ(values(a3), (std::vector<int64_t>{3, 3, 3, 3}));
}

TEST_F(StateTest, AnotherLayoutIsConverted) {
  Session sharded(makePlan({{"data"}}), "cpu:2");
  auto [a, b] = call(integers({1, 2, 3, 4}), integers(zeros));
  Outcome outcome = sharded.call({a, b}, {true, true}, "other_step");
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), (std::vector<int64_t>{3, 4, 5, 6}));
  auto [a3, b3] = call(std::get<Buffer>(outcome.results[0]), std::get<Buffer>(outcome.results[1]));
  EXPECT_EQ(values(a3), (std::vector<int64_t>{4, 5, 6, 7}));
}

TEST_F(StateTest, AShardedStateIsGatheredForTheHost) {
  Session sharded(makePlan({{"data"}}), "cpu:2");
  Buffer a = sharded.state(0, integers({1, 2, 3, 4}));
  EXPECT_EQ(values(a), (std::vector<int64_t>{1, 2, 3, 4}));
  HostTensor first = a->toHost(), second = a->toHost();
  EXPECT_NE(first.data, second.data);
}

TEST_F(StateTest, StateIsMadeForArgumentsOnly) {
  EXPECT_THAT([&] { session.state(2, integers(zeros)); }, ThrowsMessage<Error>(HasSubstr("slot 2")));
  EXPECT_THAT([&] { session.state(0, integers({1})); },
              ThrowsMessage<Error>("argument \"a\" is int64[1], expected int64[4]"));
}

/// What a step makes of nothing that is there yet is the first state of another one, which works in its
/// place.
TEST_F(StateTest, AResultThatIsKeptIsAState) {
  TestPlan plan(2);
  plan.slot(SlotRole::constant, "x", ElementType::i64, {4});
  plan.slot(SlotRole::result, "a", ElementType::i64, {4});
  plan.launch("increment", 4, {plan.slotBuffer(0), plan.slotBuffer(1)});
  auto finished = plan.finish();
  Session keeping(finished, "cpu:2", Executor::shared(), nullptr, /*keepsResults=*/true);
  Outcome outcome = keeping.call({integers(zeros)}, {false}, "init");
  ASSERT_TRUE(std::holds_alternative<Buffer>(outcome.results[0]));
  Buffer first = std::get<Buffer>(outcome.results[0]);
  EXPECT_EQ(values(first), ones);
  auto [a, b] = call(first, integers(zeros));
  EXPECT_TRUE(first->isDonated());
  EXPECT_EQ(values(a), twos);

  Session giving(finished, "cpu:2");
  outcome = giving.call({integers(zeros)}, {false}, "init");
  EXPECT_FALSE(std::holds_alternative<Buffer>(outcome.results[0]));
}

TEST_F(StateTest, AnEvaluationReadsStateWithoutConsumingIt) {
  TestPlan plan(2);
  plan.slot(SlotRole::state, "a", ElementType::i64, {4});
  plan.slot(SlotRole::result, "sum", ElementType::i64, {4});
  plan.launch("increment", 4, {plan.slotBuffer(0), plan.slotBuffer(1)});
  Session evaluation(plan.finish(), "cpu:2");
  Buffer a = call(integers(zeros), integers(zeros)).first;
  Outcome outcome = evaluation.call({a}, {true}, "evaluate");
  EXPECT_FALSE(a->isDonated());
  Buffer next = call(a, integers(zeros)).first; // in place, after the evaluation has read
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), twos);
  EXPECT_EQ(values(next), twos);
}

} // namespace
} // namespace epl::runtime::test
