// How the work of planning grows: counts of steps, not times, so that they are the same on every machine.

#include "test/unit/plan/Plans.h"
#include "test/unit/plan/TrainingLoop.h"

#include "runtime/plan/build/Edges.h"
#include "runtime/plan/build/Memory.h"

#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

struct Steps {
  uint64_t conflicts;
  uint64_t pairs;
};

/// Plans anew, as finish has done, and counts.
Steps stepsOf(plan::PlanT plan) {
  for (const auto &command : plan.commands)
    command->waits.clear();
  uint64_t conflicts = addEdges(plan);
  elideEdges(plan);
  return {conflicts, planMemory(plan)};
}

TEST(Growth, TwiceThePlanTakesTwiceTheSteps) {
  Steps half = stepsOf(largePlan(500)), full = stepsOf(largePlan(1000));
  EXPECT_GT(half.conflicts, 500u);
  EXPECT_GT(half.pairs, 500u);
  EXPECT_LE(double(full.conflicts), 2.2 * double(half.conflicts));
  EXPECT_LE(double(full.pairs), 2.2 * double(half.pairs));
}

TEST(Growth, TwiceTheTrainingLoopToo) {
  Steps half = stepsOf(trainingLoop({.iterations = 10})), full = stepsOf(trainingLoop({.iterations = 20}));
  EXPECT_LE(double(full.conflicts), 2.2 * double(half.conflicts));
  EXPECT_LE(double(full.pairs), 2.2 * double(half.pairs));
}

TEST(Growth, TheArenaOfALoopIsThatOfAnIteration) {
  EXPECT_EQ(largePlan(20).arena_size, largePlan(40).arena_size);
}

} // namespace
} // namespace epl::runtime::test
