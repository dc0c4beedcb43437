#include "runtime/collective/inproc/Combine.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace epl::runtime {
namespace {

using plan::ElementType;
using plan::ReductionKind;

template <typename T>
std::vector<T> combine(ReductionKind reduction, ElementType type,
                       const std::vector<std::vector<T>> &members) {
  std::vector<const void *> sources;
  for (const auto &member : members)
    sources.push_back(member.data());
  std::vector<T> target(members[0].size());
  combineFunction(reduction, type)(sources.data(), sources.size(), target.data(), 0, int64_t(target.size()));
  return target;
}

template <typename T> void checkArithmetic(ElementType type) {
  using List = std::vector<std::vector<T>>;
  List members = {{1, 2, 3}, {5, 1, 4}, {2, 7, 1}};
  EXPECT_EQ(combine<T>(ReductionKind::sum, type, members), (std::vector<T>{8, 10, 8}));
  EXPECT_EQ(combine<T>(ReductionKind::prod, type, members), (std::vector<T>{10, 14, 12}));
  EXPECT_EQ(combine<T>(ReductionKind::max, type, members), (std::vector<T>{5, 7, 4}));
  EXPECT_EQ(combine<T>(ReductionKind::min, type, members), (std::vector<T>{1, 1, 1}));
}

TEST(Combine, EveryArithmeticType) {
  checkArithmetic<int8_t>(ElementType::i8);
  checkArithmetic<int16_t>(ElementType::i16);
  checkArithmetic<int32_t>(ElementType::i32);
  checkArithmetic<int64_t>(ElementType::i64);
  checkArithmetic<_Float16>(ElementType::f16);
  checkArithmetic<float>(ElementType::f32);
  checkArithmetic<double>(ElementType::f64);
}

TEST(Combine, IntegersWrapAndKeepTheirSign) {
  EXPECT_EQ(combine<int8_t>(ReductionKind::sum, ElementType::i8, {{127}, {1}}), std::vector<int8_t>{-128});
  EXPECT_EQ(combine<int16_t>(ReductionKind::prod, ElementType::i16, {{-32768}, {-32768}}),
            std::vector<int16_t>{0});
  EXPECT_EQ(combine<int32_t>(ReductionKind::max, ElementType::i32, {{-5}, {-7}}), std::vector<int32_t>{-5});
}

TEST(Combine, Booleans) {
  std::vector<std::vector<uint8_t>> members = {{0, 0, 1, 1}, {0, 1, 0, 1}};
  EXPECT_EQ(combine<uint8_t>(ReductionKind::all, ElementType::i1, members),
            (std::vector<uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(combine<uint8_t>(ReductionKind::any, ElementType::i1, members),
            (std::vector<uint8_t>{0, 1, 1, 1}));
}

uint16_t bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return uint16_t(bits >> 16);
}

TEST(Combine, BFloat16IsRoundedOnceToEven) {
  // 256 + 1 + 1 is 258, which bf16 holds; rounding after the first sum would lose both ones.
  EXPECT_EQ(combine<uint16_t>(ReductionKind::sum, ElementType::bf16,
                              {{bfloat16(256)}, {bfloat16(1)}, {bfloat16(1)}}),
            std::vector<uint16_t>{bfloat16(258)});
  // Ties: 257 lies between 256 (even) and 258; 259 between 258 and 260 (even).
  EXPECT_EQ(combine<uint16_t>(ReductionKind::sum, ElementType::bf16,
                              {{bfloat16(256), bfloat16(258)}, {bfloat16(1), bfloat16(1)}}),
            (std::vector<uint16_t>{bfloat16(256), bfloat16(260)}));
}

TEST(Combine, BFloat16KeepsInfinityAndNotANumber) {
  uint16_t infinity = 0x7f80, signaling = 0x7f81;
  auto sum = combine<uint16_t>(ReductionKind::sum, ElementType::bf16,
                               {{infinity, infinity, signaling}, {bfloat16(1), 0xff80, bfloat16(1)}});
  EXPECT_EQ(sum[0], infinity);
  EXPECT_GT(sum[1] & 0x7fff, 0x7f80); // infinity - infinity
  EXPECT_GT(sum[2] & 0x7fff, 0x7f80);
}

TEST(Combine, NotANumberWinsFromEitherSide) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (ReductionKind reduction : {ReductionKind::max, ReductionKind::min}) {
    auto result = combine<float>(reduction, ElementType::f32, {{nan, 1}, {1, nan}});
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1]));
  }
}

TEST(Combine, InMemberOrder) {
  // (1e8 + 1) - 1e8 is 0 in f32, 1e8 - 1e8 + 1 is 1.
  EXPECT_EQ(combine<float>(ReductionKind::sum, ElementType::f32, {{1e8f}, {1.0f}, {-1e8f}}),
            std::vector<float>{0.0f});
  EXPECT_EQ(combine<float>(ReductionKind::sum, ElementType::f32, {{1e8f}, {-1e8f}, {1.0f}}),
            std::vector<float>{1.0f});
}

TEST(Combine, TouchesItsRangeOnly) {
  std::vector<int32_t> a(5000, 1), b(5000, 2);
  const void *sources[] = {a.data(), b.data()};
  combineFunction(ReductionKind::sum, ElementType::i32)(sources, 2, b.data(), 7, 4321);
  for (int64_t i = 0; i < 5000; ++i)
    ASSERT_EQ(b[i], i >= 7 && i < 4321 ? 3 : 2) << i;
}

TEST(Combine, NamesWhatATypeHasNot) {
  EXPECT_THAT([] { combineFunction(ReductionKind::all, ElementType::f32); },
              testing::ThrowsMessage<Error>("element type \"f32\" has no reduction \"all\""));
  EXPECT_THAT([] { combineFunction(ReductionKind::sum, ElementType::i1); },
              testing::ThrowsMessage<Error>("element type \"i1\" has no reduction \"sum\""));
}

} // namespace
} // namespace epl::runtime
