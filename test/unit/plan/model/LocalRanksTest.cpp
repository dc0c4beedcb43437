#include "runtime/plan/model/LocalRanks.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LocalRanks, AreAllOfAPlan) {
  LocalRanks ranks = LocalRanks::all(trainingPlan(3));
  EXPECT_EQ(ranks.numDevices(), 3u);
  EXPECT_THAT(ranks.of(0), ElementsAre(0, 1, 2));
  EXPECT_TRUE(ranks.has(0, 2));
  EXPECT_EQ(ranks.device(0, 2), 2u);
  EXPECT_EQ(ranks.place(0, 2), 2);
}

/// Part 0 has devices 0 and 3, part 1 has four others.
TEST(LocalRanks, AreSomeOfEachPart) {
  LocalRanks ranks(sideBySidePlan(), {3, 2});
  EXPECT_EQ(ranks.numDevices(), 2u);
  EXPECT_THAT(ranks.of(0), ElementsAre(1));
  EXPECT_EQ(ranks.device(0, 0), 0u);
  EXPECT_EQ(ranks.place(0, 0), -1);
  EXPECT_EQ(ranks.place(0, 1), 1);
  ASSERT_EQ(ranks.of(1).size(), 1u);
  uint32_t other = ranks.of(1)[0];
  EXPECT_EQ(ranks.device(1, other), 2u);
  EXPECT_EQ(ranks.place(1, other), 0);
  EXPECT_FALSE(ranks.has(0, 0));
}

TEST(LocalRanks, MayHaveNoneOfAPart) { EXPECT_THAT(LocalRanks(sideBySidePlan(), {0}).of(1), IsEmpty()); }

} // namespace
} // namespace epl::runtime::test
