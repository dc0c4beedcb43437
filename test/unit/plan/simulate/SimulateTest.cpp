// Commands in time, on plans small enough to do by hand.
#include "runtime/plan/simulate/Simulate.h"
#include "test/unit/plan/Plans.h"
#include "test/unit/plan/simulate/Pipeline.h"

#include "runtime/plan/model/Parts.h"
#include "runtime/plan/schedule/Generators.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using plan::PlanT;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// The same time for each command of a kind.
struct Times {
  double compute = 10, send = 0, receive = 0, collective = 0;
};

std::vector<std::vector<double>> timesOf(const PlanT &plan, const Times &times) {
  std::vector<std::vector<double>> nanoseconds;
  for (const PlanT *part : meshPlansOf(plan)) {
    nanoseconds.emplace_back();
    for (const auto &command : part->commands) {
      const plan::LaneKind lane = part->lanes[command->lane]->kind;
      nanoseconds.back().push_back(lane == plan::LaneKind::compute       ? times.compute
                                   : lane == plan::LaneKind::communicate ? times.collective
                                   : command->action.AsSend()            ? times.send
                                                                         : times.receive);
    }
  }
  return nanoseconds;
}

PlanRun runOf(const PlanT &plan, const Times &times, MessageLink link = {}, bool sharesThread = true) {
  return simulate(plan,
                  {.nanoseconds = timesOf(plan, times), .link = link, .lanesShareThread = sharesThread});
}

PlanT pipeline(const char *schedule, uint32_t microBatches, uint32_t depth) {
  return pipelinePlan(schedule::generate(schedule, {.meshes = 2, .microBatches = microBatches}), depth);
}

constexpr WaitFor fromFirst = {WaitCause::message, 0}, fromSecond = {WaitCause::message, 1},
                  roomInSecond = {WaitCause::room, 1}, theEnd = {WaitCause::end, 0},
                  collectives = {WaitCause::collective, 0}, pulled = {WaitCause::pull, 0};

/// F0 | send | F of the other | B | send | B: one behind the other.
TEST(SimulatePlan, MessagesTakeTheirTime) {
  PlanT plan = pipeline("1f1b", 1, 1);
  PlanRun run = runOf(plan, {.compute = 10, .send = 1, .receive = 2}, {.nanoseconds = 100, .gbps = 4});
  constexpr double message = 1 + 100 + 16 / 4. + 2;
  EXPECT_DOUBLE_EQ(run.makespan, 4 * 10 + 2 * message);
  EXPECT_DOUBLE_EQ(run.meshes[0].busy, 20 + 1 + 2);
  EXPECT_THAT(run.meshes[0].waits, ElementsAre(Pair(fromSecond, 20 + 2 * message - 3)));
  EXPECT_THAT(run.meshes[1].waits,
              ElementsAre(Pair(fromFirst, 10 + message - 2), Pair(theEnd, 104 + 2 + 10)));
  EXPECT_DOUBLE_EQ(run.bubble(), 1 - 46 / (2 * run.makespan));
}

/// b of 32 bytes, and then half of w, which is read second.
TEST(SimulatePlan, WhatIsPulledComesInItsOrder) {
  PlanT plan = outsidePlan();
  PlanRun fast = runOf(plan, {}, {.nanoseconds = 100, .gbps = 4});
  EXPECT_DOUBLE_EQ(fast.makespan, 100 + 32 / 4. + 4 * 10);
  EXPECT_THAT(fast.meshes[0].waits, ElementsAre(Pair(pulled, 108)));
  PlanRun slow = runOf(plan, {}, {.nanoseconds = 100, .gbps = 0.4});
  EXPECT_DOUBLE_EQ(slow.makespan, 100 + 64 / 0.4 + 3 * 10);
  EXPECT_THAT(slow.meshes[0].waits, ElementsAre(Pair(pulled, 100 + 64 / 0.4 - 10)));
  EXPECT_THAT(runOf(plan, {}, {.nanoseconds = 100, .gbps = 0.4}, false).meshes[0].waits,
              ElementsAre(Pair(pulled, 100 + 64 / 0.4 - 10)))
      << "in lanes of their own, too";
}

/// All forward work of the first mesh goes ahead of the second's, which takes as long.
TEST(SimulatePlan, SendsWaitForRoom) {
  PlanRun wide = runOf(pipeline("gpipe", 4, 4), {.compute = 10, .receive = 15});
  EXPECT_EQ(wide.meshes[0].waits.count(roomInSecond), 0u);
  PlanRun narrow = runOf(pipeline("gpipe", 4, 1), {.compute = 10, .receive = 15});
  EXPECT_DOUBLE_EQ(narrow.meshes[0].commands[2].begin, 10);
  EXPECT_GT(narrow.meshes[0].waits.at(roomInSecond), 0);
  EXPECT_GE(narrow.makespan, wide.makespan);
}

TEST(SimulatePlan, WaitsAndWorkAreAllOfTheTime) {
  for (bool shared : {true, false})
    for (const char *schedule : {"gpipe", "1f1b", "zb-h1"}) {
      PlanRun run = runOf(pipeline(schedule, 6, 1), {.send = 3, .receive = 4}, {.nanoseconds = 7}, shared);
      for (const MeshRun &mesh : run.meshes) {
        double time = mesh.busy;
        for (const auto &[cause, waited] : mesh.waits)
          time += waited;
        EXPECT_NEAR(time, run.makespan, 1e-9);
      }
    }
}

/// On one thread a sum takes time from what computes; on a lane of its own only if its result is awaited.
TEST(SimulatePlan, LanesShareAThreadOrNot) {
  PlanT plan = trainingPlan(2);
  Times times{.compute = 10, .collective = 100};
  PlanRun shared = runOf(plan, times, {}, true), own = runOf(plan, times, {}, false);
  EXPECT_THAT(shared.meshes[0].waits, IsEmpty());
  EXPECT_DOUBLE_EQ(shared.meshes[0].busy, shared.makespan);
  EXPECT_LT(own.makespan, shared.makespan);
  EXPECT_GT(own.meshes[0].waits.at(collectives), 0);
}

/// Any lanes, waits and guards: each command runs behind its lane and its waits, none for nothing.
TEST(SimulatePlan, EveryCommandRunsWhenItMay) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    PlanT plan = randomPlan(seed);
    PlanRun run = runOf(plan, {.compute = 3, .collective = 5}, {}, false);
    std::map<uint32_t, double> ends; // of lanes
    for (uint32_t index = 0; index < plan.commands.size(); ++index) {
      double ready = ends[plan.commands[index]->lane];
      for (const plan::Wait &wait : plan.commands[index]->waits)
        ready = std::max(ready, run.meshes[0].commands[wait.command()].end);
      EXPECT_DOUBLE_EQ(run.meshes[0].commands[index].begin, ready);
      ends[plan.commands[index]->lane] = run.meshes[0].commands[index].end;
    }
  }
}

TEST(SimulatePlan, OneThreadIsNeverIdleAlone) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    PlanT plan = randomPlan(seed);
    PlanRun run = runOf(plan, {.compute = 3, .collective = 5});
    EXPECT_DOUBLE_EQ(run.bubble(), 0) << "seed " << seed;
  }
}

} // namespace
} // namespace epl::runtime::test
