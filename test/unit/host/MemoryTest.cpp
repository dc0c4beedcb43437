#include "runtime/host/Memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace epl::runtime {
namespace {

TEST(Memory, IsAlignedAndZeroSmallAndHuge) {
  for (size_t size : {1, 63, 64, 65, 4097, (4 << 20) - 1, 4 << 20, (4 << 20) + 1}) {
    Memory memory(size);
    EXPECT_EQ(memory.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % Memory::kAlignment, 0u) << size;
    EXPECT_TRUE(
        std::all_of(memory.data(), memory.data() + size, [](std::byte b) { return b == std::byte(0); }));
    memory.data()[size - 1] = std::byte(1);
  }
}

TEST(Memory, MovesItsBlock) {
  Memory first(100);
  std::byte *data = first.data();
  Memory second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
  EXPECT_EQ(first.size(), 100u);
}

TEST(Memory, CountsWhatIsNotFreed) {
  size_t before = Memory::liveBytes();
  {
    Memory small(100, Memory::Fill::none), huge(size_t(8) << 20), moved(std::move(small));
    EXPECT_EQ(Memory::liveBytes() - before, 100 + (size_t(8) << 20));
    huge = Memory();
    EXPECT_EQ(Memory::liveBytes() - before, 100u);
  }
  EXPECT_EQ(Memory::liveBytes(), before);
}

TEST(Memory, KeepsBlocksThatOthersMayTouch) {
  auto touchFreed = [] {
    Memory::keepAll();
    for (size_t size : {size_t(100), size_t(8) << 20}) {
      std::byte *data = Memory(size).data();
      data[size - 1] = std::byte(1);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(touchFreed(), testing::ExitedWithCode(0), "");
}

TEST(Memory, EmptyHasNoBlock) { EXPECT_EQ(Memory(0).data(), nullptr); }

TEST(Memory, SaysWhenThereIsNone) { EXPECT_THROW(Memory(size_t(1) << 62), std::bad_alloc); }

} // namespace
} // namespace epl::runtime
