#include "TestPlan.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Inproc.h"
#include "runtime/device/cpu/CpuDevices.h"
#include "runtime/executor/LoadedPlan.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Backend cpu() { return {std::make_shared<CpuDevices>(), std::make_shared<InprocCollectives>()}; }

TEST(Program, NamesTheMissingCpuFeature) {
  TestPlan plan(1);
  plan.image().features = {"sse2", "avx9000"};
  EXPECT_THAT([&] { LoadedPlan(plan.finish(), cpu()); }, ThrowsMessage<Error>(HasSubstr("\"avx9000\"")));
}

TEST(Program, NamesTheMissingKernel) {
  TestPlan plan(1);
  plan.launch("nowhere", 1, {plan.buffer(8)});
  EXPECT_THAT([&] { LoadedPlan(plan.finish(), cpu()); }, ThrowsMessage<Error>(HasSubstr("\"nowhere\"")));
}

TEST(Program, TellsWaitsByPlacesInLanes) {
  TestPlan plan({{"data", 2}, {"model", 3}});
  plan.launch("coordinate", 0, {plan.buffer(8)});
  uint32_t first = plan.launch("coordinate", 0, {plan.buffer(8)});
  uint32_t second = plan.launch("coordinate", 0, {plan.buffer(8)}, {after(first), afterMembers(first, 1)});
  LoadedPlan loaded(plan.finish(), cpu());
  const Program &program = loaded.program(0);
  EXPECT_TRUE(program.localWaits(first).empty());
  EXPECT_TRUE(program.remoteWaits(first).empty());
  ASSERT_EQ(program.localWaits(second).size(), 1u);
  EXPECT_EQ(program.localWaits(second)[0].lane, 0u);
  EXPECT_EQ(program.localWaits(second)[0].position, 1u);
  ASSERT_EQ(program.remoteWaits(second).size(), 1u);
  EXPECT_EQ(program.remoteWaits(second)[0].place.position, 1u);
  EXPECT_EQ(program.remoteWaits(second)[0].communicator, 1u);
  EXPECT_THAT(program.listeners(first), ElementsAre(1));
  EXPECT_TRUE(program.listeners(second).empty());
}

TEST(Program, NamesTheMemberThatIsElsewhere) {
  TestPlan plan(2);
  uint32_t x = plan.buffer(8);
  uint32_t made = plan.launch("coordinate", 1, {x});
  plan.allReduce(plan::ReductionKind::sum, plan::ElementType::i64, x, plan.buffer(8), 1,
                 {afterMembers(made)});
  auto finished = plan.finish();
  EXPECT_THAT(
      [&] { LoadedPlan(finished, cpu(), LocalRanks(*finished, {0})); },
      ThrowsMessage<Error>("command \"all_reduce\" uses memory of device 1, which is not in this process"));
}

} // namespace
} // namespace epl::runtime::test
