#include "TestPlan.h"

#include "runtime/executor/Topology.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using testing::ElementsAre;

TEST(Topology, CountsRanksRowMajor) {
  TestPlan plan({{"data", 2}, {"model", 3}});
  Topology topology(plan.plan);
  EXPECT_EQ(topology.size(), 6u);
  EXPECT_THAT(topology.coordinates(0), ElementsAre(0, 0));
  EXPECT_THAT(topology.coordinates(4), ElementsAre(1, 1));
  EXPECT_THAT(topology.members(0, 4), ElementsAre(1, 4));
  EXPECT_THAT(topology.members(1, 4), ElementsAre(3, 4, 5));
  EXPECT_EQ(topology.position(0, 4), 1u);
  EXPECT_EQ(topology.position(1, 5), 2u);
}

TEST(Topology, OrdersMembersByTheCommunicatorsAxes) {
  TestPlan plan({{"data", 2}, {"model", 3}});
  plan.plan.communicators[0]->axes = {"model", "data"};
  Topology topology(plan.plan);
  EXPECT_THAT(topology.members(0, 2), ElementsAre(0, 3, 1, 4, 2, 5));
}

} // namespace
} // namespace epl::runtime::test
