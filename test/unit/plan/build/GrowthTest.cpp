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

/// Forward work of all micro-batches, each of which keeps a value, then the backward work that reads it and
/// sums over two devices.
plan::PlanT keepingPlan(uint32_t count) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 64),
           result = maker.slot("result", plan::SlotRole::result, 64);
  std::vector<uint32_t> kept;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t hidden = maker.buffer("hidden", 256);
    kept.push_back(maker.buffer("kept", 64 + 64 * (i % 3)));
    maker.run("forward", {x}, {hidden});
    maker.run("keep", {hidden}, {kept.back()});
  }
  uint32_t carried = x;
  for (uint32_t value : kept) {
    uint32_t addend = maker.buffer("addend", 64), sum = maker.buffer("sum", 64),
             next = maker.buffer("next", 64);
    maker.run("backward", {value}, {addend});
    maker.sum("sum", data, addend, sum);
    maker.run("add", {carried, sum}, {next});
    carried = next;
  }
  maker.setResult(result, carried);
  return maker.finish();
}

// All pairs would be looked at, were they not too many; what is kept lies side by side all the same.
TEST(Growth, WhatIsAliveTogetherNeedNotBeComparedInPairs) {
  plan::PlanT plan = keepingPlan(4200);
  uint64_t kept = 4200 / 3 * (64 + 128 + 192);
  EXPECT_LE(plan.arena_size, kept + 1024);
  EXPECT_EQ(stepsOf(std::move(plan)).pairs, 0u);
}

TEST(Growth, TheArenaOfALoopIsThatOfAnIteration) {
  EXPECT_EQ(largePlan(20).arena_size, largePlan(40).arena_size);
}

} // namespace
} // namespace epl::runtime::test
