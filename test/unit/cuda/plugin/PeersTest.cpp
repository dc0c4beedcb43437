// Processes that tell one another which cards they have; here they are threads.

#include "runtime/device/cuda/collectives/Peers.h"

#include "runtime/Error.h"
#include "test/unit/collective/messages/Network.h"

#include <gmock/gmock.h>

#include <thread>

namespace epl::runtime::cuda {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

/// What a function gives in each of some processes.
template <typename Body> auto inProcesses(uint32_t count, Body body) {
  test::Network network(count, 1);
  std::vector<decltype(body(network.join(0), 0U))> results(count);
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < count; ++process)
    threads.emplace_back([&, process] { results[process] = body(network.join(process), process); });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

TEST(Peers, KnowWhichDevicesShareACard) {
  auto cards = inProcesses(2, [](std::shared_ptr<ProcessGroup> group, uint32_t process) {
    Peers peers({"cuda", 4}, std::move(group));
    peers.shareCards(process == 0 ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"b", "c"});
    return std::vector<uint32_t>{peers.cardOf(0), peers.cardOf(1), peers.cardOf(2), peers.cardOf(3)};
  });
  EXPECT_EQ(cards[0], cards[1]);
  EXPECT_EQ(cards[0][1], cards[0][2]);
  EXPECT_EQ(std::set<uint32_t>(cards[0].begin(), cards[0].end()).size(), 3u);
}

TEST(Peers, AreNumberedOnTheirHost) {
  auto places = inProcesses(3, [](std::shared_ptr<ProcessGroup> group, uint32_t) {
    return Peers({"cuda", 3}, std::move(group)).placeOnHost();
  });
  EXPECT_THAT(places, ElementsAre(0, 1, 2));
}

TEST(Peers, OfAProcessThatIsAloneAreNone) {
  Peers peers({"cuda", 2}, nullptr);
  peers.shareCards({"a", "a"});
  EXPECT_TRUE(peers.isAlone());
  EXPECT_TRUE(peers.isHere(1));
  EXPECT_EQ(peers.cardOf(0), peers.cardOf(1));
  EXPECT_EQ(peers.say({}).size(), 1u);
}

TEST(Peers, HaveEqualShares) {
  test::Network network(2, 1);
  EXPECT_THAT(
      [&] { Peers({"cuda", 3, 1, {0}}, network.join(0)); },
      ThrowsMessage<Error>("\"cuda:0x3\" are divided among 2 processes, expected a number of devices that "
                           "this divides"));
}

} // namespace
} // namespace epl::runtime::cuda
