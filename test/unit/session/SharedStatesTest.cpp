// States of which all ranks of a process have one memory.

#include "Tensors.h"

#include <gmock/gmock.h>
#include <set>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;
using Buffer = std::shared_ptr<StateBuffer>;

/// Steps in which rank 0 adds 1 to a state, of which all give what they find before and behind that.
class SharedStatesTest : public testing::TestWithParam<uint32_t> {
protected:
  struct Found {
    Buffer state;
    std::vector<int64_t> before, after; // rank by rank
  };

  /// `waits`: whether the owner's write comes behind what the others read.
  static std::shared_ptr<const plan::PlanT> makePlan(uint32_t ranks, bool waits) {
    TestPlan plan(ranks);
    plan.slot(SlotRole::state, "w", ElementType::i64, {4});
    plan.slot(SlotRole::result, "w", ElementType::i64, {4}, {}, 0);
    for (const char *name : {"before", "after"})
      plan.slot(SlotRole::result, name, ElementType::i64, {4 * int64_t(ranks)}, {{"data"}});
    uint32_t w = plan.slotBuffer(0), oldValue = plan.slotBuffer(2), newValue = plan.slotBuffer(3);
    uint32_t read = plan.copy(w, oldValue);
    uint32_t update = plan.launch("increment", 4, {w, w}, {waits ? afterMembers(read) : after(read)});
    plan.plan.commands[update]->owner = std::make_unique<plan::Owner>(0, 0);
    plan::CopyFromRootT copy;
    plan::GatheredTensorT &tensor = copy.tensors.emplace_back();
    tensor.type = ElementType::i64;
    tensor.buffer = w;
    tensor.count = 4;
    uint32_t sent = plan.command("broadcast", copy, {afterMembers(update)}, 1);
    plan.copy(w, newValue, {after(sent)});
    return plan.finish();
  }

  Found call(Session &session, const Argument &state, bool donate = true) const {
    Outcome outcome = session.call({state}, {donate}, "train_step");
    return {std::get<Buffer>(outcome.results[0]), elements<int64_t>(outcome.results[1]),
            elements<int64_t>(outcome.results[2])};
  }

  static size_t numMemories(const Buffer &state) {
    std::set<const std::byte *> memories;
    for (const Shard &shard : state->shards().first)
      memories.insert(shard.data);
    return memories.size();
  }

  std::vector<int64_t> everywhere(int64_t value) const { return std::vector<int64_t>(4 * GetParam(), value); }

  Session session{makePlan(GetParam(), true), devices(GetParam())};
  Buffer first = session.state(0, integers({0, 0, 0, 0}));
};

TEST_P(SharedStatesTest, AreWrittenBehindAllReads) {
  EXPECT_EQ(numMemories(first), 1u);
  Buffer state = first;
  const std::byte *memory = state->toHost().data;
  for (int64_t step = 0; step < 200; ++step) {
    Found found = call(session, state);
    EXPECT_EQ(found.before, everywhere(step));
    EXPECT_EQ(found.after, everywhere(step + 1));
    state = found.state;
  }
  EXPECT_EQ(state->toHost().data, memory);
}

/// The same plan but for one wait is right with a memory for each rank, and with one it would not be.
TEST_P(SharedStatesTest, HaveAMemoryEachWhereNothingOrdersThem) {
  Session loose(makePlan(GetParam(), false), devices(GetParam()));
  Buffer state = loose.state(0, integers({0, 0, 0, 0}));
  EXPECT_EQ(numMemories(state), GetParam());
  Found found = call(loose, state);
  EXPECT_EQ(found.before, everywhere(0));
  EXPECT_EQ(found.after, everywhere(1));
}

TEST_P(SharedStatesTest, AreCopiedOnceWhereSomebodyKeepsTheValue) {
  Buffer state = first;
  for (int64_t step = 0; step < 50; ++step) {
    Buffer saved = state->snapshot();
    Found found = call(session, state);
    EXPECT_EQ(elements<int64_t>(saved->toHost()), std::vector<int64_t>(4, step));
    EXPECT_EQ(found.before, everywhere(step));
    EXPECT_EQ(found.after, everywhere(step + 1));
    EXPECT_EQ(numMemories(found.state), 1u);
    state = found.state;
  }
}

/// A step that writes the state on all ranks takes a copy, and what it gives has a memory for each.
TEST_P(SharedStatesTest, GoToStepsThatDoNotShareThemAndBack) {
  Session loose(makePlan(GetParam(), false), devices(GetParam()));
  Found found = call(loose, first);
  EXPECT_EQ(found.after, everywhere(1));
  EXPECT_EQ(numMemories(found.state), GetParam());
  found = call(session, found.state);
  EXPECT_EQ(found.before, everywhere(1));
  EXPECT_EQ(found.after, everywhere(2));
  EXPECT_EQ(elements<int64_t>(found.state->toHost()), std::vector<int64_t>(4, 2));
}

/// A snapshot of a shared state leaves shared memory behind, of which a step that writes on all ranks makes
/// no use.
TEST_P(SharedStatesTest, LeaveNoSpareMemoryToOthers) {
  Buffer saved = first->snapshot();
  Found found = call(session, first);
  saved = nullptr; // what it was in is the spare memory of the new value now
  Session loose(makePlan(GetParam(), false), devices(GetParam()));
  found = call(loose, found.state);
  EXPECT_EQ(found.before, everywhere(1));
  EXPECT_EQ(found.after, everywhere(2));
  EXPECT_EQ(numMemories(found.state), GetParam());
}

TEST_P(SharedStatesTest, AreThoseThatAStepOnlyReads) {
  TestPlan plan(GetParam());
  plan.slot(SlotRole::state, "w", ElementType::i64, {4});
  plan.slot(SlotRole::result, "read", ElementType::i64, {4 * int64_t(GetParam())}, {{"data"}});
  plan.copy(plan.slotBuffer(0), plan.slotBuffer(1));
  Session reader(plan.finish(), devices(GetParam()));
  Buffer state = reader.state(0, integers({5, 5, 5, 5}));
  EXPECT_EQ(numMemories(state), 1u);
  Outcome outcome = reader.call({state}, {false}, "read");
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), everywhere(5));
}

/// As an evaluation gives back the state that it has.
TEST_P(SharedStatesTest, AreThoseThatAStepGivesBackAsTheyAre) {
  TestPlan plan(GetParam());
  plan.slot(SlotRole::state, "w", ElementType::i64, {4});
  plan.slot(SlotRole::result, "w", ElementType::i64, {4}, {}, 0);
  plan.slot(SlotRole::result, "read", ElementType::i64, {4 * int64_t(GetParam())}, {{"data"}});
  plan.copy(plan.slotBuffer(0), plan.slotBuffer(2));
  Session reader(plan.finish(), devices(GetParam()));
  Outcome outcome = reader.call({integers({5, 5, 5, 5})}, {true}, "read");
  auto state = std::get<Buffer>(outcome.results[0]);
  const std::byte *memory = state->toHost().data;
  EXPECT_EQ(numMemories(state), 1u);
  EXPECT_EQ(elements<int64_t>(outcome.results[1]), everywhere(5));
  Found found = call(session, state); // which writes it
  EXPECT_EQ(found.state->toHost().data, memory);
  EXPECT_EQ(found.before, everywhere(5));
  EXPECT_EQ(found.after, everywhere(6));
}

INSTANTIATE_TEST_SUITE_P(Ranks, SharedStatesTest, testing::Values(2, 4));

} // namespace
} // namespace epl::runtime::test
