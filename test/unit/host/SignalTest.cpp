#include "runtime/host/Signal.h"

#include <gtest/gtest.h>

#include <thread>

namespace epl::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Signal, EndsAWaitWhenItIsRaised) {
  Signal signal;
  std::atomic<int> rounds = 0;
  std::thread other([&] {
    for (uint32_t seen = 0; seen < 1000; ++seen) {
      signal.wait(seen);
      ++rounds;
    }
  });
  for (int raised = 0; raised < 1000; ++raised) {
    while (rounds != raised)
      std::this_thread::yield();
    signal.raise();
  }
  other.join();
  EXPECT_EQ(signal.get(), 1000u);
}

TEST(Signal, WaitsNoLongerThanToldTo) {
  Signal signal;
  auto begin = std::chrono::steady_clock::now();
  signal.waitFor(0, 5ms);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
  signal.waitFor(1, 1h); // it is another number already
}

} // namespace
} // namespace epl::runtime
