//===- MemoryTest.cpp - Memory of a device --------------------------------===//

#include "test/cuda/machine/Memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace cuda_double;
using testing::HasSubstr;

TEST(ByteSets, AreSetsOfBytes) {
  std::mt19937_64 random(1);
  for (int repeat = 0; repeat < 300; ++repeat) {
    uint64_t size = 1 + random() % 300;
    ByteSet set(size);
    std::vector<bool> wanted(size);
    for (uint64_t i = random() % 12; i > 0; --i) {
      uint64_t begin = random() % size, length = 1 + random() % (size - begin);
      length = std::min<uint64_t>(length, 1 + random() % 80);
      set.add(begin, length);
      std::fill_n(wanted.begin() + static_cast<ptrdiff_t>(begin), length, true);
      uint64_t from = random() % size, some = 1 + random() % (size - from);
      auto first = wanted.begin() + static_cast<ptrdiff_t>(from);
      EXPECT_EQ(set.contains(from, some), std::find(first, first + static_cast<ptrdiff_t>(some), false) ==
                                              first + static_cast<ptrdiff_t>(some));
    }
    std::vector<bool> found(size);
    uint64_t last = 0;
    set.forEachRange([&](uint64_t begin, uint64_t end) {
      EXPECT_TRUE(begin < end && (begin > last || begin == 0));
      last = end;
      std::fill(found.begin() + static_cast<ptrdiff_t>(begin), found.begin() + static_cast<ptrdiff_t>(end),
                true);
    });
    EXPECT_EQ(found, wanted);
  }
}

TEST(DeviceMemory, GivesAlignedMemoryUntilItIsFull) {
  DeviceMemory memory(10'000);
  std::optional<uint64_t> a = memory.allocate(4'000), b = memory.allocate(5'000);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a % 256, 0U);
  EXPECT_EQ(*b % 256, 0U);
  EXPECT_EQ(memory.getFree(), 1'000U);
  EXPECT_FALSE(memory.allocate(1'001));
  EXPECT_FALSE(memory.allocate(0));
  EXPECT_TRUE(memory.release(*a));
  EXPECT_FALSE(memory.release(*a));
  EXPECT_FALSE(memory.release(*b + 1));
  EXPECT_EQ(memory.getFree(), 5'000U);
  std::optional<uint64_t> c = memory.allocate(4'000);
  ASSERT_TRUE(c);
  EXPECT_NE(*c, *a);
}

TEST(DeviceMemory, KnowsWhatAnAddressIs) {
  DeviceMemory memory;
  uint64_t a = memory.allocate(100).value(), b = memory.allocate(50).value();
  EXPECT_EQ(memory.find(a + 99, 1)->base, a);
  EXPECT_EQ(memory.find(a + 99, 2), nullptr);
  EXPECT_EQ(memory.find(a, 100)->size, 100U);
  EXPECT_EQ(memory.find(~uint64_t(0), 2), nullptr);
  EXPECT_THAT(memory.describeMiss(a + 99, 2), HasSubstr("1 bytes beyond the end of an allocation of 100"));
  memory.release(b);
  EXPECT_EQ(memory.find(b, 1), nullptr);
  EXPECT_THAT(memory.describeMiss(b + 3, 4), HasSubstr("memory that was freed"));
  EXPECT_THAT(memory.describeMiss(16, 4), HasSubstr("no memory of the device"));
}

TEST(DeviceMemory, KnowsWhatWasUsed) {
  DeviceMemory memory;
  uint64_t a = memory.allocate(256).value(), b = memory.allocate(64).value();
  Allocation &first = *memory.find(a, 1), &second = *memory.find(b, 1);
  EXPECT_TRUE(memory.use(first, a + 64, 128, true));
  EXPECT_TRUE(memory.use(first, a + 100, 4, false));
  EXPECT_FALSE(memory.use(first, a + 60, 8, false));
  EXPECT_FALSE(memory.use(second, b, 1, false));
  std::vector<Use> uses = memory.takeUses();
  ASSERT_EQ(uses.size(), 4U);
  EXPECT_EQ(uses[0].begin, a + 60);
  EXPECT_EQ(uses[0].end, a + 68);
  EXPECT_FALSE(uses[0].isWritten);
  EXPECT_EQ(uses[1].begin, a + 64);
  EXPECT_EQ(uses[1].end, a + 192);
  EXPECT_TRUE(uses[1].isWritten);
  EXPECT_EQ(uses[3].begin, b);
  EXPECT_TRUE(memory.takeUses().empty());
}
