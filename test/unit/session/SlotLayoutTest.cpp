#include "Tensors.h"

#include <gmock/gmock.h>

#include <numeric>

namespace epl::runtime::test {
namespace {

struct Case {
  std::vector<int64_t> shape;
  Sharding sharding;
};

/// The layout of a slot of i64 on the mesh data = 2, model = 3.
struct Fixture {
  explicit Fixture(const Case &c) : plan({{"data", 2}, {"model", 3}}) {
    plan.slot(plan::SlotRole::state, "w", plan::ElementType::i64, c.shape, c.sharding);
  }
  Topology topology() const { return Topology(plan.plan); }
  SlotLayout layout() const { return SlotLayout(plan.plan, *plan.plan.slots[0], topology()); }

  TestPlan plan;
};

/// Whether the element at `index` of the global tensor belongs to a rank, straight from the definition.
bool belongs(const Case &c, std::span<const int64_t> coordinates, std::vector<int64_t> index) {
  for (size_t dim = 0; dim < c.sharding.size(); ++dim) {
    int64_t extent = c.shape[dim];
    for (const std::string &name : c.sharding[dim]) {
      size_t axis = name == "data" ? 0 : 1;
      extent /= axis == 0 ? 2 : 3;
      if (index[dim] / extent != coordinates[axis])
        return false;
      index[dim] %= extent;
    }
  }
  return true;
}

std::vector<int64_t> indexOf(const std::vector<int64_t> &shape, int64_t element) {
  std::vector<int64_t> index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; element /= shape[dim])
    index[dim] = element % shape[dim];
  return index;
}

class SlotLayoutTest : public testing::TestWithParam<Case> {};

/// Whether the boxes of a rank are its block, `local`, of a tensor whose elements are 0, 1, 2 and so on.
void expectBoxes(const SlotLayout &layout, uint32_t rank, const std::vector<int64_t> &shape,
                 const std::vector<int64_t> &local) {
  ASSERT_TRUE(layout.boxes(rank));
  std::vector<int64_t> found(local.size(), -1);
  for (const Box &box : *layout.boxes(rank)) {
    ASSERT_EQ(box.dims.size(), shape.size());
    std::vector<size_t> index(shape.size());
    for (bool isOver = false; !isOver;) {
      size_t offset = box.offset, element = 0;
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        offset += index[dim] * box.dims[dim].stride;
        element = element * size_t(shape[dim]) + box.dims[dim].begin + index[dim];
      }
      ASSERT_LT(offset / 8, found.size());
      found[offset / 8] = int64_t(element);
      size_t dim = shape.size();
      while (dim > 0 && ++index[dim - 1] == box.dims[dim - 1].extent)
        index[--dim] = 0;
      isOver = dim == 0;
    }
  }
  EXPECT_EQ(found, local) << "rank " << rank;
}

TEST_P(SlotLayoutTest, CopiesTheElementsOfEachRankInOrder) {
  Fixture fixture(GetParam());
  SlotLayout layout = fixture.layout();
  Topology topology = fixture.topology();
  std::vector<int64_t> global(layout.globalBytes() / 8);
  std::iota(global.begin(), global.end(), 0);
  std::vector<int64_t> gathered(global.size(), -1);
  for (uint32_t rank = 0; rank < 6; ++rank) {
    std::vector<int64_t> expected, found(layout.localBytes() / 8);
    for (int64_t element : global)
      if (belongs(GetParam(), topology.coordinates(rank), indexOf(GetParam().shape, element)))
        expected.push_back(element);
    layout.copyToLocal(rank, reinterpret_cast<std::byte *>(global.data()),
                       reinterpret_cast<std::byte *>(found.data()));
    EXPECT_EQ(found, expected) << "rank " << rank;
    expectBoxes(layout, rank, GetParam().shape, found);
    if (layout.isContiguous() && !found.empty())
      EXPECT_EQ(layout.offset(rank), size_t(found[0]) * 8);
    if (layout.firstAlike(rank) == rank)
      layout.copyToGlobal(rank, reinterpret_cast<std::byte *>(found.data()),
                          reinterpret_cast<std::byte *>(gathered.data()));
  }
  EXPECT_EQ(gathered, global) << "the primary ranks hold everything";
}

INSTANTIATE_TEST_SUITE_P(Shardings, SlotLayoutTest,
                         testing::Values(Case{{}, {}}, Case{{5}, {}}, Case{{6}, {{"data"}}},
                                         Case{{0}, {{"data"}}}, Case{{12}, {{"model", "data"}}},
                                         Case{{4, 6}, {{"data"}, {"model"}}}, Case{{4, 6}, {{}, {"model"}}},
                                         Case{{2, 1, 6}, {{"data"}, {}, {"model"}}},
                                         Case{{3, 4, 5}, {{"model"}, {"data"}}},
                                         Case{{3, 12}, {{}, {"data", "model"}}}, Case{{6, 0}, {{"model"}}}));

TEST(SlotRows, LieInTheCallersTensor) {
  for (const Sharding &sharding : {Sharding{{}, {}}, Sharding{{"model"}, {}}, Sharding{{}, {"data"}}}) {
    Case c{{3, 4}, sharding};
    Fixture fixture(c);
    fixture.plan.plan.slots[0]->caller_rows = std::make_unique<plan::CallerRows>(2, 7);
    SlotLayout layout = fixture.layout();
    EXPECT_EQ(layout.globalBytes(), 7 * 4 * 8);
    EXPECT_FALSE(layout.isReplicated());
    std::vector<int64_t> global(28), gathered(28, -1), expected(28, -1);
    std::iota(global.begin(), global.end(), 0);
    std::iota(expected.begin() + 8, expected.begin() + 20, 8);
    for (uint32_t rank = 0; rank < 6; ++rank) {
      std::vector<int64_t> own(layout.localBytes() / 8);
      layout.copyToLocal(rank, reinterpret_cast<std::byte *>(global.data()),
                         reinterpret_cast<std::byte *>(own.data()));
      expectBoxes(layout, rank, {7, 4}, own);
      if (layout.isContiguous())
        EXPECT_EQ(own.front(), int64_t(layout.offset(rank) / 8));
      if (layout.firstAlike(rank) == rank)
        layout.copyToGlobal(rank, reinterpret_cast<std::byte *>(own.data()),
                            reinterpret_cast<std::byte *>(gathered.data()));
    }
    EXPECT_EQ(gathered, expected);
  }
}

/// The caller's dimension 1 has parts of 6, 12 and 6: (3, 8), of which each row has 2, 4 and 2 elements.
void makeParts(Fixture &fixture) {
  plan::SlotT &slot = *fixture.plan.plan.slots[0];
  slot.caller_shape = {2, 24, 5};
  slot.caller_parts.push_back(std::make_unique<plan::CallerPartsT>());
  slot.caller_parts[0]->dim = 1;
  slot.caller_parts[0]->extents = {6, 12, 6};
}

/// Where the caller has the element at `index` of {2, 3, 8, 5}, straight from the definition.
int64_t callerElement(const std::vector<int64_t> &index) {
  int64_t row = index[1], column = index[2];
  int64_t position = column < 2   ? row * 2 + column
                     : column < 6 ? 6 + row * 4 + column - 2
                                  : 18 + row * 2 + column - 6;
  return (index[0] * 24 + position) * 5 + index[3];
}

class SlotPartsTest : public testing::TestWithParam<Sharding> {};

TEST_P(SlotPartsTest, CopiesAShareOfEachPart) {
  Case c{{2, 3, 8, 5}, GetParam()};
  Fixture fixture(c);
  makeParts(fixture);
  SlotLayout layout = fixture.layout();
  Topology topology = fixture.topology();
  EXPECT_FALSE(layout.isContiguous());
  std::vector<int64_t> global(240), gathered(240, -1);
  std::iota(global.begin(), global.end(), 0);
  for (uint32_t rank = 0; rank < 6; ++rank) {
    std::vector<int64_t> expected, found(layout.localBytes() / 8);
    for (int64_t element : global)
      if (std::vector<int64_t> index = indexOf(c.shape, element);
          belongs(c, topology.coordinates(rank), index))
        expected.push_back(callerElement(index));
    layout.copyToLocal(rank, reinterpret_cast<std::byte *>(global.data()),
                       reinterpret_cast<std::byte *>(found.data()));
    EXPECT_EQ(found, expected) << "rank " << rank;
    expectBoxes(layout, rank, {2, 24, 5}, found);
    if (layout.firstAlike(rank) == rank)
      layout.copyToGlobal(rank, reinterpret_cast<std::byte *>(found.data()),
                          reinterpret_cast<std::byte *>(gathered.data()));
  }
  EXPECT_EQ(gathered, global) << "the primary ranks hold everything";
}

INSTANTIATE_TEST_SUITE_P(Shardings, SlotPartsTest,
                         testing::Values(Sharding{{}, {}, {}, {}}, Sharding{{}, {"model"}, {}, {}},
                                         Sharding{{"data"}, {"model"}, {}, {}},
                                         Sharding{{}, {"model"}, {"data"}, {}},
                                         Sharding{{}, {}, {"data"}, {}}));

/// The caller's dimensions of 12 and 6 are (2, 6) and (3, 2) here.
TEST(SlotLayout, HasABoxForEachSegment) {
  for (const Sharding &sharding :
       {Sharding{{}, {}, {}, {}, {}}, Sharding{{"data"}, {"model"}, {}, {}, {}},
        Sharding{{}, {"model"}, {}, {}, {"data"}}, Sharding{{}, {"data"}, {}, {"model"}, {}}}) {
    Fixture fixture({{2, 6, 5, 3, 2}, sharding});
    fixture.plan.plan.slots[0]->caller_shape = {12, 5, 6};
    SlotLayout layout = fixture.layout();
    std::vector<int64_t> global(360);
    std::iota(global.begin(), global.end(), 0);
    for (uint32_t rank = 0; rank < 6; ++rank) {
      std::vector<int64_t> own(layout.localBytes() / 8);
      layout.copyToLocal(rank, reinterpret_cast<std::byte *>(global.data()),
                         reinterpret_cast<std::byte *>(own.data()));
      expectBoxes(layout, rank, {12, 5, 6}, own);
    }
  }
}

TEST(SlotLayout, HasNoBoxesOfAnotherShape) {
  Fixture fixture({{4, 6}, {{"data"}}});
  fixture.plan.plan.slots[0]->caller_shape = {3, 8};
  EXPECT_FALSE(fixture.layout().boxes(0));
}

TEST(SlotLayout, OnlyTheFirstDimensionIsContiguous) {
  EXPECT_TRUE(Fixture({{4, 6}, {}}).layout().isContiguous());
  EXPECT_TRUE(Fixture({{4, 6}, {{"data"}}}).layout().isContiguous());
  EXPECT_TRUE(Fixture({{1, 6}, {{}, {"model"}}}).layout().isContiguous());
  EXPECT_FALSE(Fixture({{4, 6}, {{}, {"model"}}}).layout().isContiguous());
}

} // namespace
} // namespace epl::runtime::test
