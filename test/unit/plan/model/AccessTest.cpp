#include "runtime/plan/model/Access.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace epl::runtime::test {
namespace {

using testing::ElementsAre;

/// The bytes of a strided set, one by one.
std::set<uint64_t> enumerate(const std::vector<StridedDim> &dims, uint64_t bytes) {
  std::set<int64_t> elements{0};
  for (StridedDim dim : dims) {
    std::set<int64_t> next;
    for (int64_t base : elements)
      for (int64_t i = 0; i < dim.extent; ++i)
        next.insert(base + i * dim.stride);
    elements = std::move(next);
  }
  std::set<uint64_t> result;
  for (int64_t element : elements)
    for (uint64_t byte = 0; byte < bytes; ++byte)
      result.insert(uint64_t(element) * bytes + byte);
  return result;
}

TEST(Access, GuardsAreReadLast) {
  plan::PlanT plan = branchPlan();
  std::vector<Access> accesses = accessesOf(plan, Mesh(plan), *plan.commands[9]);
  ASSERT_EQ(accesses.size(), 5u); // two inputs, an output, two guards
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(accesses[3 + i].buffer, 2 + i);
    EXPECT_FALSE(accesses[3 + i].write);
    EXPECT_EQ(accesses[3 + i].operand, firstGuard + i);
    EXPECT_THAT(accesses[3 + i].ranges, ElementsAre(ByteRange{0, 1}));
  }
}

TEST(Access, StridedRangesAreTheEnumeratedBytes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<StridedDim> dims{{int64_t(random() % 5), 1}};
    for (unsigned i = random() % 4; i > 0; --i)
      dims.push_back({int64_t(random() % 5), int64_t(random() % 20)});
    uint64_t bytes = random() % 2 ? 4 : 8;
    std::vector<ByteRange> ranges;
    ASSERT_TRUE(stridedRanges(dims, bytes, ranges));
    std::set<uint64_t> found;
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_LT(ranges[i].begin, ranges[i].end);
      EXPECT_TRUE(i == 0 || ranges[i - 1].end < ranges[i].begin);
      for (uint64_t byte = ranges[i].begin; byte < ranges[i].end; ++byte)
        found.insert(byte);
    }
    ASSERT_EQ(found, enumerate(dims, bytes)) << "trial " << trial;
  }
}

TEST(Access, MoreRangesThanAreTrackedAreRefused) {
  std::vector<ByteRange> ranges;
  EXPECT_TRUE(stridedRanges({{maxRanges, 2}}, 4, ranges));
  EXPECT_FALSE(stridedRanges({{maxRanges + 1, 2}}, 4, ranges));
  EXPECT_FALSE(stridedRanges({{300, 2}, {300, 1000}}, 4, ranges));
}

void addBuffers(plan::PlanT &plan, std::initializer_list<uint64_t> sizes) {
  for (uint64_t size : sizes) {
    plan.buffers.push_back(std::make_unique<plan::BufferT>());
    plan.buffers.back()->size = size;
  }
}

TEST(Access, AContractionReachesItsOperandsOverTheirStrides) {
  plan::ContractT contract;
  contract.type = plan::ElementType::f32;
  contract.c = 2;
  contract.m = 2, contract.n = 3, contract.k = 4;
  contract.lda = 2, contract.transpose_a = true;
  contract.ldb = 3;
  contract.ldc = 8;
  contract.batch = {plan::BatchDim(2, 8, 0, 16)};
  plan::PlanT plan;
  addBuffers(plan, {64, 48, 108});
  plan::CommandT command;
  command.action.Set(contract);
  std::vector<Access> accesses = accessesOf(plan, Mesh(plan), command);
  ASSERT_EQ(accesses.size(), 3u);
  EXPECT_THAT(accesses[0].ranges, ElementsAre(ByteRange{0, 64}));
  EXPECT_THAT(accesses[1].ranges, ElementsAre(ByteRange{0, 48}));
  EXPECT_THAT(accesses[2].ranges,
              ElementsAre(ByteRange{0, 12}, ByteRange{32, 44}, ByteRange{64, 76}, ByteRange{96, 108}));
  EXPECT_TRUE(accesses[2].write);
  command.action.AsContract()->type = plan::ElementType::bf16;
  command.action.AsContract()->widens = true;
  accesses = accessesOf(plan, Mesh(plan), command);
  EXPECT_THAT(accesses[0].ranges, ElementsAre(ByteRange{0, 32}));
  EXPECT_THAT(accesses[2].ranges,
              ElementsAre(ByteRange{0, 12}, ByteRange{32, 44}, ByteRange{64, 76}, ByteRange{96, 108}));
}

TEST(Access, AContractionReadsItsBias) {
  plan::ContractT contract;
  contract.type = plan::ElementType::bf16;
  contract.b = 1, contract.c = 2, contract.bias = 3, contract.has_bias = true;
  contract.m = 2, contract.n = 3, contract.k = 4, contract.lda = 4, contract.ldb = contract.ldc = 3;
  plan::PlanT plan;
  addBuffers(plan, {16, 24, 12, 6});
  plan::CommandT command;
  command.action.Set(contract);
  std::vector<Access> accesses = accessesOf(plan, Mesh(plan), command);
  ASSERT_EQ(accesses.size(), 4u);
  EXPECT_EQ(accesses[2].buffer, 3u);
  EXPECT_EQ(accesses[2].operand, uint32_t(ContractOperand::bias));
  EXPECT_FALSE(accesses[2].write);
  EXPECT_THAT(accesses[2].ranges, ElementsAre(ByteRange{0, 6}));
}

TEST(Access, ACopyTouchesItsParts) {
  plan::PlanT plan;
  addBuffers(plan, {64, 16});
  plan::CopyT copy;
  copy.source = 0, copy.target = 1, copy.from = 24, copy.to = 4, copy.size = 8;
  plan::CommandT command;
  command.action.Set(copy);
  std::vector<Access> accesses = accessesOf(plan, Mesh(plan), command);
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_THAT(accesses[0].ranges, ElementsAre(ByteRange{24, 32}));
  EXPECT_THAT(accesses[1].ranges, ElementsAre(ByteRange{4, 12}));
  EXPECT_TRUE(accesses[1].write);
}

/// The part of the second member of three, of 100 elements of four bytes: [32, 64).
TEST(Access, PartsAreThoseOfTheMemorysOwner) {
  plan::PlanT plan;
  plan.axes.push_back(std::make_unique<plan::AxisT>());
  plan.axes[0]->name = "data";
  plan.axes[0]->size = 3;
  plan.communicators.push_back(std::make_unique<plan::CommunicatorT>());
  plan.communicators[0]->axes = {"data"};
  addBuffers(plan, {400});
  Mesh mesh(plan);
  plan::ReducePartT reduce;
  reduce.tensors.emplace_back();
  reduce.tensors[0].type = plan::ElementType::f32;
  reduce.tensors[0].count = 100;
  plan::CommandT command;
  command.action.Set(reduce);
  std::vector<Access> accesses = accessesOf(plan, mesh, command);
  ASSERT_EQ(accesses.size(), 3u);
  EXPECT_THAT(rangesOf(accesses[0], mesh, 1), ElementsAre(ByteRange{128, 256}));
  EXPECT_TRUE(accesses[1].remote);
  EXPECT_THAT(rangesOf(accesses[1], mesh, 1), ElementsAre(ByteRange{0, 128}, ByteRange{256, 400}));
  EXPECT_THAT(rangesOf(accesses[1], mesh, 0), ElementsAre(ByteRange{128, 400}));
  EXPECT_THAT(rangesOf(accesses[2], mesh, 1), ElementsAre(ByteRange{128, 256}));
}

} // namespace
} // namespace epl::runtime::test
