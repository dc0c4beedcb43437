#include "runtime/session/OpenDevices.h"

#include "Tensors.h"

#include "../collective/messages/Network.h"
#include "runtime/Error.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using testing::ThrowsMessage;

TEST(OpenDevices, NamesBothDeviceCounts) {
  TestPlan plan(2);
  auto finished = plan.finish();
  EXPECT_THAT(
      [&] { openDevices(*finished, "cpu:3"); },
      ThrowsMessage<Error>("the plan is for 2 devices (cpu:2 = data 2), found 3 devices (\"cpu:3\")"));
  EXPECT_NO_THROW(openDevices(*finished, "cpu:2"));
}

TEST(OpenDevices, NamesBothKinds) {
  TestPlan plan(1);
  plan.plan.device_kind = "tpu";
  EXPECT_THAT([&] { openDevices(plan.plan, "cpu:1"); },
              ThrowsMessage<Error>("the plan is for devices of kind \"tpu\", found \"cpu:1\""));
}

TEST(OpenDevices, NamesBothNumbersOfProcesses) {
  TestPlan plan(2);
  plan.plan.device_kind = "cuda";
  EXPECT_THAT([&] { openDevices(plan.plan, "cuda:2*"); },
              ThrowsMessage<Error>("\"cuda:2*\" has 2 processes, found 1 process"));
  EXPECT_THAT([&] { openDevices(plan.plan, "cuda:*x2", Network(3, 1).join(0)); },
              ThrowsMessage<Error>("\"cuda:*x2\" are divided among 3 processes, expected a number of devices "
                                   "that this divides"));
}

} // namespace
} // namespace epl::runtime::test
