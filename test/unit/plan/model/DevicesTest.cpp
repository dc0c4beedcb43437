#include "runtime/plan/model/Devices.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

namespace epl::runtime {
namespace {

using ::testing::ThrowsMessage;

const std::string kExpected = "devices must be \"cpu:N\", \"cuda:CARDS\" or a count";

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
    EXPECT_THAT([&] { Devices::parse(text); }, ThrowsMessage<Error>(kExpected + ", found \"" + text + "\""));
  EXPECT_THAT([&] { Devices::parse("tpu:2"); },
              ThrowsMessage<Error>(kExpected + ", found \"tpu:2\", which is not supported yet"));
  for (std::string text : {"gpu", "GPU: 2", "cuda"})
    EXPECT_THAT([&] { Devices::parse(text); },
                ThrowsMessage<Error>(kExpected + ", found \"" + text + "\"; the first GPU is \"cuda:0\""));
}

TEST(Devices, ReadsCards) {
  using Cards = std::vector<uint32_t>;
  Devices one = Devices::parse("CUDA: 3");
  EXPECT_EQ(std::tie(one.kind, one.count, one.cards), std::make_tuple("cuda", 1u, Cards{3}));
  Devices some = Devices::parse("cuda:0-2,5x4");
  EXPECT_EQ(std::tie(some.count, some.cards), std::make_tuple(16u, Cards({0, 1, 2, 5})));
  for (std::string text : {"cuda:0", "cuda:7x2", "cuda:0-3", "cuda:0,2", "cuda:0-1,3-4x2"})
    EXPECT_EQ(Devices::parse(text).str(), text);
  EXPECT_EQ(Devices::parse("cuda:2,3,1").str(), "cuda:2-3,1");
  EXPECT_EQ((Devices{"cuda", 4}).str(), "cuda:0x4");
}

TEST(Devices, RefusesWhatIsNoListOfCards) {
  for (auto [text, range] : std::vector<std::pair<std::string, std::string>>{{"cuda:", ""},
                                                                             {"cuda:0,", ""},
                                                                             {"cuda:a", "a"},
                                                                             {"cuda:3-1", "3-1"},
                                                                             {"cuda:-1", "-1"},
                                                                             {"cuda:0,9999", "9999"},
                                                                             {"cuda:0-", "0-"},
                                                                             {"cuda:1.5", "1.5"},
                                                                             {"cuda:*1", "*1"}})
    EXPECT_THAT([&] { Devices::parse(text); },
                ThrowsMessage<Error>("cards must be numbers and ranges, as in \"cuda:0\", \"cuda:0-3\", "
                                     "\"cuda:0,2\", found \"" +
                                     range + "\" in \"" + text + "\""));
  EXPECT_THAT([&] { Devices::parse("cuda:0-2,1"); },
              ThrowsMessage<Error>("card 1 is named twice in \"cuda:0-2,1\"; virtual devices of one card are "
                                   "\"cuda:1x2\""));
  EXPECT_THAT([&] { Devices::parse("cuda:0xy"); },
              ThrowsMessage<Error>("the devices on each card must be a number, found \"y\" in \"cuda:0xy\""));
}

TEST(Devices, ReadsACardForEachProcess) {
  Devices alone = Devices::parse("cuda:*"), four = Devices::parse("CUDA: 4*x2");
  EXPECT_EQ(std::tie(alone.count, alone.processes), std::make_tuple(1u, 1u));
  EXPECT_EQ(std::tie(four.count, four.processes), std::make_tuple(8u, 4u));
  EXPECT_TRUE(four.cards.empty());
  Devices some = Devices::parse("cuda:4*[1,3]x2");
  EXPECT_EQ(std::tie(some.count, some.processes, some.cards),
            std::make_tuple(8u, 4u, std::vector<uint32_t>({1, 3})));
  for (std::string text : {"cuda:*", "cuda:*x3", "cuda:4*", "cuda:4*x2", "cuda:*[2]", "cuda:4*[0-2,5]x2"})
    EXPECT_EQ(Devices::parse(text).str(), text);
  EXPECT_EQ(Devices::parse("cuda:1*").str(), "cuda:*");
  for (std::string number : {"0", "-1", "a", "0-3"})
    EXPECT_THAT([&] { Devices::parse("cuda:" + number + "*"); },
                ThrowsMessage<Error>("before the \"*\" of \"cuda:" + number +
                                     "*\" must be the number of processes, or nothing, found \"" + number +
                                     "\""));
}

TEST(Devices, CountCardsWithinAList) {
  auto among = [](const std::string &text, const std::string &list) {
    return Devices::parse(text).among(list).str();
  };
  EXPECT_EQ(among("cuda:0", "5"), "cuda:5");
  EXPECT_EQ(among("cuda:0,2x4", "3,1,7"), "cuda:3,7x4");
  EXPECT_EQ(among("cuda:2", "4-6"), "cuda:6");
  EXPECT_EQ(among("cuda:*", "2-3"), "cuda:*[2-3]");
  EXPECT_EQ(among("cuda:4*[1]x2", "2-3"), "cuda:4*[3]x2");
  EXPECT_THAT(
      [&] { among("cuda:0,2", "4-5"); },
      ThrowsMessage<Error>("\"cuda:0,2\" names card 2 of \"4-5\", expected 0 to 1, as they count from 0 "
                           "in that list"));
  EXPECT_THAT([&] { among("cpu:2", "0"); }, ThrowsMessage<Error>(testing::HasSubstr("\"cpu:2\"")));
  EXPECT_THAT([&] { among("cuda:0", "1,a"); },
              ThrowsMessage<Error>(testing::HasSubstr("found \"a\" in \"1,a\"")));
  EXPECT_THAT([&] { among("cuda:0", "1-2,2"); },
              ThrowsMessage<Error>(testing::HasSubstr("card 2 is named twice")));
}

TEST(Devices, GiveEachProcessACard) {
  EXPECT_EQ(Devices::parse("cuda:4*x2").ofProcess(3).str(), "cuda:3x2");
  EXPECT_EQ(Devices::parse("cuda:4*[5,7]").ofProcess(3).str(), "cuda:7");
  EXPECT_EQ(Devices::parse("cuda:0-1").ofProcess(3).str(), "cuda:0-1");
}

TEST(Devices, RefusesTooFewAndTooMany) {
  for (std::string text : {"0", "-1", "cpu:0", "cpu:-4294967297", "cpu:0x4", "cpu:2x-1", "cuda:0x0"})
    EXPECT_THAT([&] { Devices::parse(text); },
                ThrowsMessage<Error>("at least one device is needed, found \"" + text + "\""));
  for (std::string text :
       {"1025", "cpu:4294967297", "cpu:99999999999999999999", "cpu:2x513", "65536x65536", "cuda:0-1x513"})
    EXPECT_THAT([&] { Devices::parse(text); },
                ThrowsMessage<Error>("at most 1024 devices are supported, found \"" + text + "\""));
}

} // namespace
} // namespace epl::runtime
