#include "runtime/session/OpenDevices.h"

#include "Tensors.h"

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

} // namespace
} // namespace epl::runtime::test
