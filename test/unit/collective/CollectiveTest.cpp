#include "runtime/collective/inproc/Collective.h"

#include <gtest/gtest.h>

#include <vector>

namespace epl::runtime {
namespace {

/// The members' values of one buffer.
struct Members {
  std::vector<std::vector<int32_t>> values;

  Members(size_t members, int64_t count) : values(members, std::vector<int32_t>(count)) {
    for (size_t member = 0; member < members; ++member)
      for (int64_t i = 0; i < count; ++i)
        values[member][i] = int32_t(1000 * member + i);
  }
  std::vector<const void *> pointers() const {
    std::vector<const void *> result;
    for (const auto &value : values)
      result.push_back(value.data());
    return result;
  }
};

TEST(AllReduce, InPlaceGivesEveryMemberTheSum) {
  for (size_t members : {1, 2, 3, 4, 8, 64})
    for (int64_t count : {0, 1, 3, 7, 16, 33, 1000, 5000, 200000}) {
      Members buffers(members, count);
      std::vector<int32_t> expected(count);
      for (const auto &values : buffers.values)
        for (int64_t i = 0; i < count; ++i)
          expected[i] += values[i];
      auto pointers = buffers.pointers();
      auto combine = combineFunction(plan::ReductionKind::sum, plan::ElementType::i32);
      for (size_t self = 0; self < members; ++self)
        reducePart(combine, pointers, self, buffers.values[self].data(), count);
      for (size_t self = 0; self < members; ++self)
        gatherParts(pointers, buffers.values[self].data(), count, 4);
      for (const auto &values : buffers.values)
        EXPECT_EQ(values, expected) << members << " members, " << count << " elements";
    }
}

/// The root's place holds its addend until it holds the sum; a part of the elements may come before the
/// others.
TEST(ReduceWhole, InPlaceGivesARootTheSum) {
  auto combine = combineFunction(plan::ReductionKind::sum, plan::ElementType::i32);
  for (size_t members : {1, 2, 3, 8, 64})
    for (int64_t count : {0, 1, 3, 33, 5000})
      for (size_t root : {size_t(0), members / 2, members - 1}) {
        Members buffers(members, count);
        std::vector<int32_t> expected(count);
        for (const auto &values : buffers.values)
          for (int64_t i = 0; i < count; ++i)
            expected[i] += values[i];
        auto pointers = buffers.pointers();
        reduceWhole(combine, pointers, buffers.values[root].data(), count, {count / 3, count});
        reduceWhole(combine, pointers, buffers.values[root].data(), count, {0, count / 3});
        EXPECT_EQ(buffers.values[root], expected) << members << " members, " << count << " elements";
      }
}

/// Of every type and reduction that there is: what the first member's part of an all-reduce is, of all
/// elements.
TEST(ReduceWhole, IsAnAllReduceOfOnePart) {
  for (plan::ElementType type : plan::EnumValuesElementType())
    for (plan::ReductionKind kind : plan::EnumValuesReductionKind()) {
      bool isLogical = kind >= plan::ReductionKind::all;
      if (isLogical != (type == plan::ElementType::i1))
        continue;
      constexpr size_t members = 3, count = 37;
      std::vector<std::vector<uint8_t>> values(members, std::vector<uint8_t>(count * 8));
      for (size_t member = 0; member < members; ++member)
        for (size_t i = 0; i < values[member].size(); ++i)
          values[member][i] = isLogical ? uint8_t((i + member) % 3 == 0) : uint8_t(i * 7 + member);
      std::vector<const void *> pointers;
      for (const auto &each : values)
        pointers.push_back(each.data());
      std::vector<uint8_t> found(count * 8), expected(count * 8);
      reduceWhole(combineFunction(kind, type), pointers, found.data(), count);
      combineFunction(kind, type)(pointers.data(), members, expected.data(), 0, count);
      EXPECT_EQ(found, expected) << plan::EnumNameElementType(type) << ' '
                                 << plan::EnumNameReductionKind(kind);
    }
}

TEST(CopyWhole, CopiesWhatIsElsewhere) {
  for (size_t bytes : {size_t(0), size_t(1), size_t(33), size_t(1) << 20}) {
    std::vector<uint8_t> source(bytes), target(bytes + 1, 7);
    for (size_t i = 0; i < bytes; ++i)
      source[i] = uint8_t(i * 31);
    copyWhole(source.data(), target.data(), bytes);
    copyWhole(target.data(), target.data(), bytes);
    source.push_back(7);
    EXPECT_EQ(target, source);
  }
}

TEST(AllGather, PutsTheMembersBesideEachOther) {
  for (size_t members : {1, 2, 3, 8, 64})
    for (int64_t outer : {0, 1, 3})
      for (int64_t inner : {0, 1, 5}) {
        Members buffers(members, outer * inner);
        std::vector<int32_t> found(outer * members * inner), expected;
        for (int64_t i = 0; i < outer; ++i)
          for (const auto &values : buffers.values)
            expected.insert(expected.end(), values.begin() + i * inner, values.begin() + (i + 1) * inner);
        gatherBlocks(buffers.pointers(), found.data(), outer, inner, 4);
        EXPECT_EQ(found, expected);
      }
}

/// Of 4 x 6 elements, rows 1 and 2 and columns 3 to 5, into columns 1 to 3 of 2 x 4.
const SharedBox box{.source = 9, .target = 1, .loops = {{2, 6, 4}}, .run = 3};

TEST(ReduceBox, CombinesABoxInMemberOrder) {
  for (size_t members : {1, 2, 3, 64}) {
    Members buffers(members, 24);
    std::vector<void *> pointers;
    for (auto &values : buffers.values)
      pointers.push_back(values.data());
    std::vector<int32_t> found(8, -1), expected(8, -1);
    for (int row = 0; row < 2; ++row)
      for (int column = 0; column < 3; ++column) {
        expected[row * 4 + column + 1] = 0;
        for (const auto &values : buffers.values)
          expected[row * 4 + column + 1] += values[(row + 1) * 6 + column + 3];
      }
    auto combine = combineFunction(plan::ReductionKind::sum, plan::ElementType::i32);
    reduceBox(combine, pointers, found.data(), box, 4);
    EXPECT_EQ(found, expected) << members << " members";
  }
}

TEST(CopyBox, CopiesNothingElse) {
  Members buffers(1, 24);
  std::vector<int32_t> found(8, -1);
  copyBox(buffers.values[0].data(), found.data(), box, 4);
  EXPECT_EQ(found, (std::vector<int32_t>{-1, 9, 10, 11, -1, 15, 16, 17}));
}

} // namespace
} // namespace epl::runtime
