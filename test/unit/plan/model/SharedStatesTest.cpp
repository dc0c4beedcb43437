// Which states the ranks of one process may have one memory of.

#include "runtime/plan/model/SharedStates.h"

#include "runtime/plan/verify/Verifier.h"
#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

using plan::PlanT;
using plan::SlotRole;

std::vector<std::string> sharedIn(const PlanT &plan) {
  std::vector<std::string> names;
  for (const SharedState &state : sharedStatesOf(plan))
    if (isOrdered(state, Order::of(plan)))
      names.push_back(plan.slots[state.slot]->name);
  return names;
}

plan::CommandT &commandOf(PlanT &plan, const std::string &name) {
  return **std::ranges::find_if(plan.commands, [&](const auto &each) { return each->name == name; });
}

/// Rank 1 updates `w`, of which all read the old value for a result, and, with `readsBetween`, once more
/// before they have the new one.
PlanT makePlan(bool readsBetween = false, uint32_t models = 1) {
  PlanMaker maker;
  maker.axis("data", 2);
  maker.axis("model", models);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t w = maker.argument("w", SlotRole::state, 32),
           x = maker.argument("x", SlotRole::batch, 64, {"data"});
  uint32_t next = maker.buffer("next", 32), peek = maker.buffer("peek", 32), late = maker.buffer("late", 32);
  uint32_t result = maker.slot("w", SlotRole::result, 32, {}, 0);
  maker.run("peek", {x, w}, {peek});
  maker.setOwner(plan::Owner(all, 1));
  maker.run("update", {w}, {next}, {0});
  maker.setOwner(std::nullopt);
  if (readsBetween)
    maker.run("late", {peek, w}, {late});
  maker.broadcast("broadcast", all, 1, {next});
  maker.setResult(result, next);
  maker.setResult(maker.slot("peek", SlotRole::result, 64, {"data"}), peek);
  if (readsBetween)
    maker.setResult(maker.slot("late", SlotRole::result, 64, {"data"}), late);
  return maker.finish();
}

TEST(SharedStates, AreParametersThatOwnersUpdate) {
  EXPECT_THAT(sharedIn(ownersPlan(2)), testing::ElementsAre("w0", "w1", "w2", "w3"));
  EXPECT_THAT(sharedIn(ownersPlan(3)), testing::ElementsAre("w0", "w1", "w2", "w3"));
}

TEST(SharedStates, HaveOneOwnerOfAllRanks) {
  EXPECT_THAT(sharedIn(ownersPlan(2, 2)), testing::IsEmpty());
  EXPECT_THAT(sharedIn(makePlan(false, 2)), testing::IsEmpty());
}

TEST(SharedStates, AreWrittenBehindWhatOtherRanksRead) {
  PlanT plan = makePlan();
  EXPECT_THAT(sharedIn(plan), testing::ElementsAre("w"));
  std::vector<plan::Wait> &waits = commandOf(plan, "update").waits;
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits.front().scope(), plan::WaitScope::members);
  EXPECT_EQ(plan.commands[waits.front().command()]->name, "peek");
  waits.clear(); // each rank with its own memory needs none: the two are of one lane
  EXPECT_THAT(verifyPlan(plan), testing::IsEmpty());
  EXPECT_THAT(sharedIn(plan), testing::IsEmpty());
}

TEST(SharedStates, AreNotReadWhileTheOwnerAloneHasTheNewValue) {
  PlanT plan = makePlan(true);
  EXPECT_THAT(verifyPlan(plan), testing::IsEmpty());
  EXPECT_THAT(sharedIn(plan), testing::IsEmpty());
}

/// With one memory a skipped copy would leave all with the new value.
TEST(SharedStates, AreNotCopiedUnderAGuardOfItsOwn) {
  PlanT plan = makePlan();
  uint32_t x = uint32_t(plan.buffers.size() - 1);
  commandOf(plan, "broadcast").guards.emplace_back(x, true);
  EXPECT_THAT(sharedIn(plan), testing::IsEmpty());
  commandOf(plan, "update").guards.emplace_back(x, true);
  EXPECT_THAT(sharedIn(plan), testing::ElementsAre("w"));
}

TEST(SharedStates, AreCopiedWhole) {
  PlanT plan = makePlan();
  commandOf(plan, "broadcast").action.AsCopyFromRoot()->tensors[0].count = 31;
  EXPECT_THAT(sharedIn(plan), testing::IsEmpty());
}

} // namespace
} // namespace epl::runtime::test
