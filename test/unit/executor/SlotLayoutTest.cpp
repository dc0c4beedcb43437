#include "TestPlan.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

#include <numeric>

namespace epl::runtime::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Case {
  std::vector<int64_t> shape;
  Sharding sharding;
};

/// The layout of a slot of i64 on the mesh data = 2, model = 3, micro = 2 (temporal).
struct Fixture {
  explicit Fixture(const Case &c) : plan({{"data", 2}, {"model", 3}, {"micro", 2}}) {
    plan.plan.axes[2]->temporal = true;
    plan.plan.devices = 6;
    plan.plan.communicators.clear();
    plan.slot(plan::SlotRole::state, "w", plan::ElementType::i64, c.shape, c.sharding);
  }
  Topology topology() const { return Topology(plan.plan); }
  SlotLayout layout() const { return SlotLayout(*plan.plan.slots[0], topology()); }

  TestPlan plan;
};

/// Whether the element at `index` of the global tensor belongs to `rank`, straight from the definition.
bool belongs(const Case &c, const Topology &topology, uint32_t rank, std::vector<int64_t> index) {
  for (size_t dim = 0; dim < c.sharding.size(); ++dim) {
    int64_t extent = c.shape[dim];
    for (const std::string &name : c.sharding[dim]) {
      uint32_t axis = topology.axisIndex(name);
      extent /= topology.axisSize(axis);
      if (!topology.isTemporal(axis) && index[dim] / extent != topology.coordinates(rank)[axis])
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
      if (belongs(GetParam(), topology, rank, indexOf(GetParam().shape, element)))
        expected.push_back(element);
    layout.copyToLocal(rank, reinterpret_cast<std::byte *>(global.data()),
                       reinterpret_cast<std::byte *>(found.data()));
    EXPECT_EQ(found, expected) << "rank " << rank;
    if (layout.isContiguous() && !found.empty())
      EXPECT_EQ(layout.offset(rank), size_t(found[0]) * 8);
    if (layout.isPrimary(rank))
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
                                         Case{{8}, {{"data", "micro"}}}, Case{{8}, {{"micro", "data"}}},
                                         Case{{3, 12}, {{}, {"micro", "model"}}}, Case{{6, 0}, {{"model"}}}));

TEST(SlotLayout, OnlyTheFirstDimensionIsContiguous) {
  EXPECT_TRUE(Fixture({{4, 6}, {}}).layout().isContiguous());
  EXPECT_TRUE(Fixture({{4, 6}, {{"data"}}}).layout().isContiguous());
  EXPECT_TRUE(Fixture({{1, 6}, {{}, {"model"}}}).layout().isContiguous());
  EXPECT_TRUE(Fixture({{8}, {{"data", "micro"}}}).layout().isContiguous());
  EXPECT_FALSE(Fixture({{4, 6}, {{}, {"model"}}}).layout().isContiguous());
  EXPECT_FALSE(Fixture({{8}, {{"micro", "data"}}}).layout().isContiguous());
}

TEST(SlotLayout, RefusesWhatDoesNotDivide) {
  EXPECT_THAT([] { Fixture({{4, 5}, {{}, {"data"}}}).layout(); },
              ThrowsMessage<Error>(HasSubstr("dimension 1 of slot \"w\" (5) is not divisible")));
  EXPECT_THAT([] { Fixture({{4, 4}, {{"data"}, {"data"}}}).layout(); },
              ThrowsMessage<Error>(HasSubstr("splits slot \"w\" twice")));
  EXPECT_THAT([] { Fixture({{4}, {{"batch"}}}).layout(); }, ThrowsMessage<Error>(HasSubstr("\"batch\"")));
  EXPECT_THROW(Fixture({{-4}, {}}).layout(), Error);
  EXPECT_THROW(Fixture({{int64_t(1) << 40, int64_t(1) << 40}, {}}).layout(), Error);
}

} // namespace
} // namespace epl::runtime::test
