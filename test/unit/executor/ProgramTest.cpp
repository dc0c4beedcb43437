#include "TestPlan.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Program, NamesBothDeviceCounts) {
  TestPlan plan(2);
  auto finished = plan.finish();
  EXPECT_THAT(
      [&] { Program(finished, "cpu:3"); },
      ThrowsMessage<Error>("the plan is for 2 devices (cpu:2 = data 2), found 3 devices (\"cpu:3\")"));
  EXPECT_NO_THROW(Program(finished, "cpu:2"));
}

TEST(Program, NamesTheMissingCpuFeature) {
  TestPlan plan(1);
  plan.plan.target_features = {"sse2", "avx9000"};
  EXPECT_THAT([&] { Program(plan.finish(), "cpu:1"); }, ThrowsMessage<Error>(HasSubstr("\"avx9000\"")));
}

TEST(Program, NamesTheMissingKernel) {
  TestPlan plan(1);
  plan.launch("nowhere", 1, {plan.buffer(8)});
  EXPECT_THAT([&] { Program(plan.finish(), "cpu:1"); }, ThrowsMessage<Error>(HasSubstr("\"nowhere\"")));
}

TEST(Program, CountsTheInstancesThatACommandWaitsFor) {
  TestPlan plan({{"data", 2}, {"model", 3}});
  uint32_t first = plan.launch("coordinate", 0, {plan.buffer(8)});
  uint32_t second = plan.launch("coordinate", 0, {plan.buffer(8)}, {after(first), afterMembers(first, 1)});
  Program program(plan.finish(), "cpu:6");
  EXPECT_EQ(program.numWaits(first), 0u);
  EXPECT_EQ(program.numWaits(second), 4u);
  ASSERT_EQ(program.successors(first).size(), 2u);
  EXPECT_EQ(program.successors(first)[0].communicator, -1);
  EXPECT_EQ(program.successors(first)[1].communicator, 1);
  EXPECT_TRUE(program.successors(second).empty());
}

} // namespace
} // namespace epl::runtime::test
