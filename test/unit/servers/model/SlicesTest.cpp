// Slices are those of Fluid's slice_variable.

#include "runtime/servers/model/Slices.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace epl::runtime::servers {
namespace {

using testing::ElementsAre;
using Shape = std::vector<int64_t>;
using Sizes = std::vector<uint64_t>;

struct Case {
  Shape shape;
  uint32_t count;
  uint64_t minBlockSize;
  Sizes sizes;
};

Sizes repeat(size_t times, uint64_t size, Sizes rest = {}) {
  Sizes sizes(times, size);
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  return sizes;
}

Sizes sizesOf(const Case &c) {
  Sizes sizes;
  for (Slice slice : sliceVariable(c.shape, c.count, c.minBlockSize))
    sizes.push_back(slice.size);
  return sizes;
}

TEST(Slices, AreThoseOfFluid) {
  const Case cases[] = {
      {{3, 5}, 10, 1024, {15}},
      {{1024}, 10, 1024, {1024}},
      {{28, 784}, 10, 1024, repeat(9, 2352, {784})},
      {{8, 1020}, 10, 1024, repeat(4, 2040)},
      {{800, 10}, 10, 1024, repeat(6, 1150, {1100})},
      {{3, 5}, 10, 8192, {15}},
      {{1024}, 10, 8192, {1024}},
      {{28, 784}, 10, 8192, {10976, 10976}},
      {{8, 1020}, 10, 8192, {8160}},
      {{800, 10}, 10, 8192, {8000}},
      {{6, 33, 33, 33}, 10, 8192, repeat(6, 35937)},
      {{1000, 1000}, 2, 8192, {500000, 500000}},
      {{1000, 1000}, 2, 1048576, {1000000}},
      {{1000, 1000}, 3, 8192, {334000, 334000, 332000}},
      {{1001, 1000}, 2, 8192, {501000, 500000}},
      {{16384}, 2, 8192, {8192, 8192}},
      {{16383}, 2, 8192, {16383}},
      {{1000000}, 3, 8192, {333334, 333334, 333332}},
      {{3, 10000}, 2, 8192, {20000, 10000}},
      {{1, 100000}, 4, 8192, {100000}},
      {{7, 4096}, 4, 8192, {12288, 12288, 4096}},
      {{5, 4096}, 4, 8192, {12288, 8192}},
      {{24577}, 3, 8192, {8193, 8193, 8191}},
      {{100, 100, 100}, 7, 8192, repeat(6, 150000, {100000})},
      {{1000, 1000}, 1, 8192, {1000000}},
      {{5}, 3, 1, {2, 2, 1}},
      {{4}, 3, 1, {2, 2}},
      {{}, 3, 1, {1}},
      {{7, 0}, 3, 1, {0}},
  };
  for (const Case &c : cases)
    EXPECT_EQ(sizesOf(c), c.sizes) << testing::PrintToString(c.shape) << " for " << c.count << " by "
                                   << c.minBlockSize;
}

TEST(Slices, CoverEachTensorInWholeRows) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    Shape shape(random() % 4);
    for (int64_t &extent : shape)
      extent = 1 + int64_t(random() % 40);
    uint32_t count = 1 + random() % 12;
    uint64_t row = rowElements(shape), next = 0;
    std::vector<Slice> slices = sliceVariable(shape, count, 1 + random() % 300);
    for (Slice slice : slices) {
      EXPECT_EQ(slice.begin, next);
      EXPECT_EQ(slice.size % row, 0u);
      EXPECT_GT(slice.size, 0u);
      EXPECT_EQ(elementCount(sliceShape(shape, slice)), slice.size);
      next += slice.size;
    }
    EXPECT_EQ(next, elementCount(shape));
    EXPECT_LE(slices.size(), count);
  }
}

TEST(Slices, HaveTheShapeOfTheirRows) {
  EXPECT_THAT(sliceShape(Shape{1000, 1000}, {500000, 500000}), ElementsAre(500, 1000));
  EXPECT_THAT(sliceShape(Shape{24577}, {16386, 8191}), ElementsAre(8191));
  EXPECT_THAT(sliceShape(Shape{}, {0, 1}), ElementsAre());
  EXPECT_THAT(sliceShape(Shape{7, 0}, {0, 0}), ElementsAre(7, 0));
}

TEST(Slices, AreCalledBlocks) {
  EXPECT_EQ(blockName("fc_w", 1, 2), "fc_w.block1");
  EXPECT_EQ(blockName("fc_b", 0, 1), "fc_b");
}

std::string errorOf(const Shape &shape, uint32_t count, uint64_t minBlockSize) {
  try {
    sliceVariable(shape, count, minBlockSize);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Slices, RefuseWhatHasNone) {
  EXPECT_EQ(errorOf({4}, 0, 1), "there are 0 servers to slice for, expected at least 1");
  EXPECT_EQ(errorOf({4}, 1, 0), "min_block_size is 0, expected at least 1");
  EXPECT_EQ(errorOf({4, -1}, 1, 1), "a tensor has extent -1, expected none below 0");
  EXPECT_EQ(errorOf({int64_t(1) << 40, int64_t(1) << 40}, 1, 1),
            "a tensor has more than 281474976710656 elements");
}

} // namespace
} // namespace epl::runtime::servers
