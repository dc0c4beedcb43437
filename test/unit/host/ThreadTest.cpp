#include "runtime/host/Thread.h"

#include <gtest/gtest.h>

namespace epl::runtime {
namespace {

TEST(Thread, CountsAtLeastOneCore) { EXPECT_GE(availableCores(), 1u); }

TEST(Thread, FlushesDenormalsForAWhile) {
  volatile float small = 1e-20f;
  auto square = [&] { return small * small; };
  EXPECT_NE(square(), 0.0f);
  {
    ArithmeticMode mode;
    EXPECT_EQ(square(), 0.0f);
  }
  EXPECT_NE(square(), 0.0f);
}

} // namespace
} // namespace epl::runtime
