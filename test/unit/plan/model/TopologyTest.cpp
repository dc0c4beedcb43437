#include "runtime/plan/model/Topology.h"

#include <gmock/gmock.h>

#include <string>

namespace epl::runtime::test {
namespace {

using testing::ElementsAre;

/// The mesh data = 2, model = 3; communicators are over the axes named.
plan::PlanT makePlan(const std::vector<std::vector<std::string>> &communicators) {
  plan::PlanT plan;
  plan.devices = 6;
  for (auto [name, size] : {std::pair("data", 2u), std::pair("model", 3u)}) {
    plan.axes.push_back(std::make_unique<plan::AxisT>());
    plan.axes.back()->name = name;
    plan.axes.back()->size = size;
  }
  for (const auto &axes : communicators) {
    plan.communicators.push_back(std::make_unique<plan::CommunicatorT>());
    plan.communicators.back()->axes = axes;
  }
  return plan;
}

TEST(Topology, CountsRanksRowMajor) {
  plan::PlanT plan = makePlan({{"data"}, {"model"}});
  Topology topology(plan);
  EXPECT_EQ(topology.size(), 6u);
  EXPECT_THAT(topology.coordinates(0), ElementsAre(0, 0));
  EXPECT_THAT(topology.coordinates(4), ElementsAre(1, 1));
  EXPECT_THAT(topology.members(0, 4), ElementsAre(1, 4));
  EXPECT_THAT(topology.members(1, 4), ElementsAre(3, 4, 5));
  EXPECT_EQ(topology.position(0, 4), 1u);
  EXPECT_EQ(topology.position(1, 5), 2u);
}

TEST(Topology, OrdersMembersByTheCommunicatorsAxes) {
  plan::PlanT plan = makePlan({{"model", "data"}});
  EXPECT_THAT(Topology(plan).members(0, 2), ElementsAre(0, 3, 1, 4, 2, 5));
}

} // namespace
} // namespace epl::runtime::test
