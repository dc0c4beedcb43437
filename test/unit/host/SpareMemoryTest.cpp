#include "runtime/host/SpareMemory.h"

#include <gtest/gtest.h>

namespace epl::runtime {
namespace {

TEST(SpareMemory, GivesWhatCameBack) {
  SpareMemory spares(2);
  std::shared_ptr<Memory> first = spares.take(1000);
  EXPECT_GE(first->size(), 1000u);
  Memory *block = first.get();
  std::shared_ptr<Memory> second = spares.take(1000);
  EXPECT_NE(second.get(), block) << "it is in use";
  first = nullptr;
  EXPECT_EQ(spares.take(900).get(), block);
}

TEST(SpareMemory, GivesNoneThatIsTooSmallOrFarTooLarge) {
  SpareMemory spares(2);
  Memory *block = spares.take(1000).get();
  EXPECT_EQ(spares.take(1001)->size(), 1001u);
  EXPECT_EQ(spares.take(400)->size(), 400u);
  EXPECT_NE(block, nullptr);
}

TEST(SpareMemory, HasLargeBlocksForSomewhatMore) {
  constexpr size_t kLarge = 10'000'000;
  EXPECT_GT(SpareMemory::roomFor(kLarge), kLarge);
  EXPECT_LE(SpareMemory::roomFor(kLarge), kLarge + kLarge / 8);
  EXPECT_EQ(SpareMemory::roomFor(SpareMemory::roomFor(kLarge)), SpareMemory::roomFor(kLarge));
  SpareMemory spares(2);
  Memory *block = spares.take(kLarge).get();
  EXPECT_EQ(spares.take(kLarge + 1000).get(), block);
}

TEST(SpareMemory, KeepsFew) {
  size_t before = Memory::liveBytes();
  std::shared_ptr<Memory> last;
  {
    SpareMemory spares(2);
    std::shared_ptr<Memory> blocks[4];
    for (auto &block : blocks)
      block = spares.take(1000);
    last = blocks[3];
    for (auto &block : blocks)
      block = nullptr;
    EXPECT_EQ(Memory::liveBytes() - before, 3000u) << "two, and what is in use";
  }
  EXPECT_EQ(last->size(), 1000u) << "outlives what it came from";
  last = nullptr;
  EXPECT_EQ(Memory::liveBytes(), before);
}

} // namespace
} // namespace epl::runtime
