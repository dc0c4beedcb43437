// Times of tables: beside theory, beside a search through all schedules, and what a run is in any case.

#include "Runs.h"
#include "Search.h"

#include "runtime/plan/schedule/Generators.h"
#include "runtime/plan/schedule/Simulate.h"
#include "runtime/plan/schedule/Text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::schedule {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Le;

/// Calls `visit` with all shapes of the theory's range.
template <typename Visit> void forAllShapes(uint32_t stagesPerMesh, const Visit &visit) {
  for (uint32_t meshes = 1; meshes <= 8; ++meshes)
    for (uint32_t microBatches = 1; microBatches <= 32; ++microBatches)
      visit(Shape{meshes, stagesPerMesh, microBatches});
}

TEST(ScheduleTheory, WholeBackwardsTakeTheBubbleOfGPipe) {
  Costs costs = {.forward = 3, .backward = 5};
  for (const char *name : {"gpipe", "1f1b", "preferforward", "preferbackward", "preferbackwardoptimizer"})
    forAllShapes(1, [&](const Shape &shape) {
      double expected = (shape.microBatches + shape.meshes - 1) * (costs.forward + costs.backward);
      EXPECT_EQ(simulate(generate(name, shape), costs).makespan, expected)
          << name << " " << shape.meshes << " " << shape.microBatches;
    });
}

TEST(ScheduleTheory, InterleavedStagesShareTheBubble) {
  for (uint32_t stages : {2u, 3u, 4u})
    forAllShapes(stages, [&](const Shape &shape) {
      if (shape.microBatches % shape.meshes != 0)
        return;
      EXPECT_EQ(simulate(generate("interleaved", shape)).makespan,
                3 * (shape.microBatches * stages + shape.meshes - 1))
          << shape.meshes << " " << stages << " " << shape.microBatches;
    });
}

TEST(ScheduleTheory, ASplitBackwardLeavesAThirdOfTheBubble) {
  forAllShapes(1, [](const Shape &shape) {
    auto run = simulate(generate("zb-h1", shape));
    EXPECT_THAT(run.kept, Each(Le(shape.meshes)));
    if (shape.microBatches >= 2 * shape.meshes - 1)
      EXPECT_EQ(run.makespan, 3 * shape.microBatches + shape.meshes - 1)
          << shape.meshes << " " << shape.microBatches;
  });
}

TEST(ScheduleTheory, WhatIsKept) {
  forAllShapes(1, [](const Shape &shape) {
    auto gpipe = simulate(generate("gpipe", shape)), inTurn = simulate(generate("1f1b", shape));
    EXPECT_THAT(gpipe.kept, Each(shape.microBatches));
    for (uint32_t mesh = 0; mesh < shape.meshes; ++mesh)
      EXPECT_EQ(inTurn.kept[mesh], std::min(shape.microBatches, shape.meshes - mesh));
  });
}

TEST(ScheduleTheory, LinksDelayWhatWaitsForThem) {
  forAllShapes(1, [](const Shape &shape) {
    Costs costs = {.link = 0.25};
    auto run = simulate(generate("gpipe", shape), costs);
    EXPECT_EQ(run.makespan, 3 * (shape.microBatches + shape.meshes - 1) + 0.5 * (shape.meshes - 1));
  });
}

/// The problem that a table of a generator solves, with what it keeps.
test::Problem problemOf(const Table &table, const Shape &shape) {
  test::Problem problem;
  problem.microBatches = shape.microBatches;
  problem.limits = simulate(table).kept;
  problem.isSplit = table[0].back().kind == Kind::weight;
  for (uint32_t stage = 0; stage < shape.meshes * shape.stagesPerMesh; ++stage)
    problem.meshOfStage.push_back(stage % shape.meshes);
  return problem;
}

void expectShortest(std::string_view name, const Shape &shape) {
  Table table = generate(name, shape);
  test::Problem problem = problemOf(table, shape);
  auto makespan = uint32_t(simulate(table).makespan);
  EXPECT_TRUE(test::canEndBy(problem, makespan)) << name << " " << shape.meshes << " " << shape.microBatches;
  EXPECT_FALSE(test::canEndBy(problem, makespan - 1))
      << name << " " << shape.meshes << " " << shape.microBatches;
}

TEST(ScheduleSearch, NoScheduleThatKeepsNoMoreIsShorter) {
  for (const char *name : {"gpipe", "1f1b", "preferbackwardoptimizer", "zb-h1"})
    for (uint32_t meshes = 1; meshes <= 4; ++meshes)
      for (uint32_t microBatches = 1; microBatches <= 8; ++microBatches)
        expectShortest(name, {meshes, 1, microBatches});
  for (Shape shape : {Shape{1, 2, 4}, Shape{2, 2, 2}, Shape{2, 2, 4}, Shape{2, 3, 2}, Shape{3, 2, 3}})
    expectShortest("interleaved", shape);
}

TEST(ScheduleSearch, OneForwardOneBackwardKeepsTheLeast) {
  for (uint32_t meshes = 2; meshes <= 4; ++meshes)
    for (uint32_t microBatches = meshes; microBatches <= 6; ++microBatches) {
      Table table = generate("1f1b", {meshes, 1, microBatches});
      auto makespan = uint32_t(simulate(table).makespan);
      for (uint32_t mesh = 0; mesh + 1 < meshes; ++mesh) {
        test::Problem problem = problemOf(table, {meshes, 1, microBatches});
        problem.limits.assign(meshes, microBatches);
        problem.limits[mesh] = meshes - mesh - 1;
        EXPECT_FALSE(test::canEndBy(problem, makespan)) << meshes << " " << microBatches << " " << mesh;
      }
    }
}

TEST(ScheduleSimulate, UnitsBeginAsSoonAsTheyCan) {
  Costs costs = {.forward = 1.5, .backward = 3.25, .input = 1.75, .weight = 1.25, .link = 0.5};
  for (const Generator &generator : getGenerators())
    for (uint32_t meshes = 1; meshes <= 4; ++meshes) {
      Table table = generate(generator.name, {meshes, generator.hasSeveralStages ? 3u : 1u, 2 * meshes});
      test::expectRunOf(table, costs, simulate(table, costs));
    }
}

TEST(ScheduleSimulate, TimesOfKinds) {
  Costs costs = {.forward = 1, .backward = 10, .input = 20, .weight = 300, .link = 0};
  auto spans =
      simulate(parse("s1.F.m0 s1.I.m0 s1.W.m0\ns2.F.m0 s2.B.m0\ns0.F.m0 s0.I.m0", "text").table, costs).spans;
  EXPECT_EQ(spans[0][1].end - spans[0][1].begin, 20);
  EXPECT_EQ(spans[0][2].end - spans[0][2].begin, 300);
  EXPECT_EQ(spans[1][1].end - spans[1][1].begin, 10);
  EXPECT_EQ(spans[2][1].end - spans[2][1].begin, 320); // the first stage does all in I
}

TEST(ScheduleSimulate, OtherNeedsThanThoseOfTheFlow) {
  Table table = parse("s0.F.m0 s0.B.m0\ns1.F.m0 s1.B.m0", "text").table;
  auto needs = [](Unit unit) {
    return unit == Unit{1, Kind::backward, 0} ? std::vector<Unit>{{0, Kind::backward, 0}}
                                              : std::vector<Unit>();
  };
  auto spans =
      simulate(table, {.forward = 1, .backward = 2}, {.has = [](Unit) { return true; }, .needs = needs})
          .spans;
  EXPECT_EQ(spans[0][1].begin, 1);
  EXPECT_EQ(spans[1][0].begin, 0);
  EXPECT_EQ(spans[1][1].begin, 3);
}

TEST(ScheduleSimulate, WhatAMeshKeepsEndsWithTheLastThatReadsIt) {
  auto run = simulate(
      parse("s0.F.m0 s0.F.m1 s0.I.m0 s0.I.m1\ns1.F.m0 s1.I.m0 s1.F.m1 s1.I.m1 s1.W.m0 s1.W.m1", "").table);
  EXPECT_THAT(run.kept, ElementsAre(2, 2));
  EXPECT_THAT(simulate(generate("zb-h1", {3, 1, 8})).kept, ElementsAre(3, 3, 3));
}

TEST(ScheduleSimulate, ABubbleIsWhatMeshesWait) {
  auto run = simulate(generate("1f1b", {2, 1, 4}));
  EXPECT_THAT(run.idle, ElementsAre(3, 3));
  EXPECT_DOUBLE_EQ(run.bubble(), 3.0 / 15);
  EXPECT_EQ(simulate(generate("1f1b", {1, 1, 4})).bubble(), 0);
}

} // namespace
} // namespace epl::runtime::schedule
