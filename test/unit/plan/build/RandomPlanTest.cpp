// Random programs: what finish makes of them computes, in every interleaving tried, what the program does
// when its commands run one after another and no two buffers share memory.

#include "test/unit/plan/Plans.h"
#include "test/unit/plan/Simulator.h"

#include "runtime/plan/verify/Verifier.h"

#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

void expectFaithful(const plan::PlanT &plan) {
  Outcome expected = runInProgramOrder(withoutReuse(plan));
  EXPECT_EQ(runInProgramOrder(plan), expected);
  for (uint64_t seed = 1; seed <= 8; ++seed)
    ASSERT_EQ(runInRandomOrder(plan, seed), expected) << "interleaving " << seed;
}

TEST(RandomPlan, EveryInterleavingComputesTheProgram) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expectFaithful(randomPlan(seed));
  }
}

/// The values of results, as the program's last commands copy them, are those that end in the results.
TEST(RandomPlan, ResultsAreTheValuesThatTheyWereSetTo) {
  for (uint64_t seed = 0; seed < 1000; ++seed)
    ASSERT_EQ(runInProgramOrder(randomPlan(seed)), runInProgramOrder(randomPlan(seed, true)))
        << "seed " << seed;
}

/// Whether states are in memory of the host is no matter of what a program computes.
TEST(RandomPlan, OffloadedStatesHaveTheSameValues) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    plan::PlanT plan = randomPlan(seed, false, /*offloads=*/true);
    EXPECT_TRUE(plan.slots.front()->in_host);
    expectFaithful(plan);
    ASSERT_EQ(runInProgramOrder(plan), runInProgramOrder(randomPlan(seed)));
  }
}

TEST(RandomPlan, HandWrittenPlansToo) {
  for (const NamedPlan &named : allPlans()) {
    SCOPED_TRACE(named.name);
    expectFaithful(named.plan);
  }
}

// The simulator itself must be able to fail: without waits, interleavings differ.
TEST(RandomPlan, WithoutWaitsInterleavingsDiffer) {
  plan::PlanT plan = trainingPlan(2);
  for (const auto &command : plan.commands)
    command->waits.clear();
  EXPECT_NE(runInRandomOrder(plan, 1), runInRandomOrder(plan, 2));
}

} // namespace
} // namespace epl::runtime::test
