// Gradients of one block: one on its way, others that wait and are merged.

#include "runtime/servers/logic/Gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers {
namespace {

TEST(Gradients, GoOneAfterTheOther) {
  Gradients gradients;
  EXPECT_EQ(gradients.add(3, 10, 1), std::nullopt);
  EXPECT_EQ(gradients.add(4, 11, 1), std::nullopt);
  EXPECT_EQ(gradients.steps(), 5u);
  EXPECT_EQ(gradients.waiting(), 2u);
  ASSERT_TRUE(gradients.send());
  EXPECT_EQ(gradients.send(), nullptr);
  EXPECT_EQ(gradients.sent()->gradient, 10u);
  EXPECT_FALSE(gradients.acknowledged(4));
  EXPECT_EQ(gradients.acknowledged(3)->gradient, 10u);
  EXPECT_FALSE(gradients.acknowledged(3)) << "a second answer is none";
  EXPECT_EQ(gradients.send()->step, 4u);
  EXPECT_FALSE(gradients.empty());
  EXPECT_TRUE(gradients.acknowledged(4));
  EXPECT_TRUE(gradients.empty());
}

TEST(Gradients, MergeWhileTheyWait) {
  Gradients gradients;
  gradients.add(0, 10, 3);
  gradients.send();
  EXPECT_EQ(gradients.add(1, 11, 3), std::nullopt) << "what is on its way stays as it is";
  EXPECT_EQ(gradients.add(2, 12, 3), 11u);
  EXPECT_EQ(gradients.add(3, 13, 3), 11u);
  EXPECT_EQ(gradients.add(4, 14, 3), std::nullopt) << "three are as many as may be one";
  EXPECT_EQ(gradients.waiting(), 2u);
  gradients.acknowledged(0);
  const Gradients::Entry *entry = gradients.send();
  EXPECT_EQ(entry->gradient, 11u);
  EXPECT_EQ(entry->step, 3u);
  EXPECT_EQ(entry->count, 3u);
}

} // namespace
} // namespace epl::runtime::servers
