#include "runtime/plan/model/Devices.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

namespace epl::runtime {
namespace {

using ::testing::ThrowsMessage;

TEST(Devices, ReadsKindAndCount) {
  for (const char *text : {"cpu:12", "12", "cpu:0012", "CPU:12", "cpu: 12", " Cpu : 12\n", " 12 "})
    EXPECT_EQ(Devices::parse(text).str(), "cpu:12");
  EXPECT_EQ(Devices::parse("cpu:1024").count, maxDevices);
}

TEST(Devices, ReadsNodes) {
  Devices devices = Devices::parse("cpu:2x6");
  EXPECT_EQ(devices.nodes, 2u);
  EXPECT_EQ(devices.count, 12u);
  EXPECT_EQ(devices.str(), "cpu:2x6");
  EXPECT_EQ(Devices::parse("3x1").str(), "cpu:3x1");
  EXPECT_EQ(Devices::parse("cpu:3X1").str(), "cpu:3x1");
  EXPECT_EQ(Devices::parse("cpu:1x4").str(), "cpu:4");
}

TEST(Devices, RefusesWhatIsNoDeviceString) {
  for (std::string text : {"", "cpu", "cpu:", ":2", "cpu:x", "cpu:2x", "cpu:+2", "cpu:1 2", "cpu:--2",
                           "c pu:2", "cpu:2:2", "2.0", "cpu:x2", "cpu:2x2x2", "cpu:2 x2", " ", "cpu 2"})
    EXPECT_THAT([&] { Devices::parse(text); },
                ThrowsMessage<Error>("devices must be \"cpu:N\" or a count, found \"" + text + "\""));
  for (std::string text : {"cuda:0-3", "gpu", "tpu:2", "GPU: 2"})
    EXPECT_THAT([&] { Devices::parse(text); },
                ThrowsMessage<Error>("devices must be \"cpu:N\" or a count, found \"" + text +
                                     "\", which is not supported yet"));
}

TEST(Devices, RefusesTooFewAndTooMany) {
  for (std::string text : {"0", "-1", "cpu:0", "cpu:-4294967297", "cpu:0x4", "cpu:2x-1"})
    EXPECT_THAT([&] { Devices::parse(text); },
                ThrowsMessage<Error>("at least one device is needed, found \"" + text + "\""));
  for (std::string text : {"1025", "cpu:4294967297", "cpu:99999999999999999999", "cpu:2x513", "65536x65536"})
    EXPECT_THAT([&] { Devices::parse(text); },
                ThrowsMessage<Error>("at most 1024 devices are supported, found \"" + text + "\""));
}

} // namespace
} // namespace epl::runtime
