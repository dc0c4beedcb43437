#include "runtime/plan/model/Mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

using testing::ElementsAre;

plan::PlanT meshOf(const std::vector<uint32_t> &axes,
                   const std::vector<std::vector<std::string>> &communicators) {
  plan::PlanT plan;
  for (uint32_t size : axes) {
    plan.axes.push_back(std::make_unique<plan::AxisT>());
    plan.axes.back()->name = std::string(1, char('a' + plan.axes.size() - 1));
    plan.axes.back()->size = size;
  }
  for (const std::vector<std::string> &names : communicators) {
    plan.communicators.push_back(std::make_unique<plan::CommunicatorT>());
    plan.communicators.back()->axes = names;
  }
  return plan;
}

TEST(Mesh, TheFirstAxisIsMajor) {
  Mesh mesh(meshOf({2, 1, 3}, {}));
  EXPECT_EQ(mesh.devices(), 6u);
  EXPECT_THAT(mesh.coordinates(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(mesh.coordinates(2), ElementsAre(0, 0, 2));
  EXPECT_THAT(mesh.coordinates(4), ElementsAre(1, 0, 1));
}

TEST(Mesh, MembersAreOrderedByTheAxesOfTheirCommunicator) {
  Mesh mesh(meshOf({2, 3}, {{"a"}, {"b"}, {"a", "b"}, {"b", "a"}}));
  EXPECT_THAT(mesh.members(0, 4), ElementsAre(1, 4));
  EXPECT_THAT(mesh.members(1, 4), ElementsAre(3, 4, 5));
  EXPECT_THAT(mesh.members(2, 4), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(mesh.members(3, 4), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Mesh, AMembersIndexIsItsPlaceAmongTheMembers) {
  Mesh mesh(meshOf({2, 3, 2}, {{"a"}, {"b", "c"}, {"c", "a"}, {"c", "b", "a"}}));
  for (uint32_t communicator = 0; communicator < 4; ++communicator)
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank) {
      std::vector<uint32_t> members = mesh.members(communicator, rank);
      EXPECT_EQ(members.size(), mesh.memberCount(communicator));
      EXPECT_EQ(members[mesh.memberIndex(communicator, rank)], rank);
    }
}

TEST(Mesh, PartsCoverTheElementsInWholeLines) {
  for (int64_t count : {0, 1, 15, 16, 17, 63, 64, 65, 1000})
    for (uint32_t members = 1; members <= 9; ++members) {
      int64_t next = 0;
      for (uint32_t index = 0; index < members; ++index) {
        ElementRange part = partOf(count, index, members);
        EXPECT_EQ(part.begin, next);
        EXPECT_LE(part.begin, part.end);
        EXPECT_EQ(part.begin % 16, 0);
        EXPECT_EQ(part.begin, count * index / members / 16 * 16);
        next = part.end;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(Mesh, PartsOfHugeCountsDoNotOverflow) {
  ElementRange part = partOf(INT64_MAX, 1022, 1023);
  EXPECT_GT(part.begin, INT64_MAX / 1023 * 1021);
  EXPECT_EQ(part.end, INT64_MAX);
}

TEST(Mesh, ASlotsLocalBytesFollowItsSharding) {
  plan::PlanT plan = meshOf({2, 3}, {});
  plan::SlotT slot;
  slot.type = plan::ElementType::f64;
  slot.shape = {12, 6, 5};
  for (const std::vector<std::string> &axes : std::vector<std::vector<std::string>>{{"a", "b"}, {}, {}}) {
    slot.sharding.push_back(std::make_unique<plan::DimShardingT>());
    slot.sharding.back()->axes = axes;
  }
  EXPECT_THAT(localShape(plan, slot), ElementsAre(2, 6, 5));
  EXPECT_EQ(localBytes(plan, slot), 480u);
}

} // namespace
} // namespace epl::runtime::test
