// Which collectives of a plan are calls of NCCL, and which ones.

#include "runtime/device/cuda/collectives/LibraryCalls.h"

#include "test/unit/executor/TestPlan.h"

#include <gmock/gmock.h>

namespace epl::runtime::cuda {
namespace {

using plan::ElementType;
using plan::ReductionKind;
using test::TestPlan;
using Kind = LibraryCall::Kind;

/// A command of two axes, "data" of 2 and "model" of 4, over the second of these.
class LibraryCalls : public testing::Test {
protected:
  template <typename Action> const plan::CommandT &add(Action action) {
    plan.command("move", std::move(action), {}, 2);
    return *plan.plan.commands.back();
  }
  bool isCall(const plan::CommandT &command, bool keepsOrder = false) const {
    return isLibraryCall(plan.plan, Mesh(plan.plan), command, 1, keepsOrder);
  }
  /// Those of rank 6, the third member of the second group; buffer b of rank r is at 100 r + b.
  std::vector<LibraryCall> callsOf(const plan::CommandT &command) const {
    MoveAddresses addresses{[](uint32_t rank, uint32_t buffer) { return 100UL * rank + buffer; }, {}};
    return libraryCallsOf(plan.plan, command, 6, addresses);
  }
  bool isReduced(ReductionKind kind, ElementType type, bool keepsOrder = false) {
    plan::ReduceToRootT reduce;
    reduce.communicator = 1, reduce.reduction = kind;
    reduce.tensors.push_back(plan::ReducedTensorT());
    reduce.tensors.back().type = type;
    return isCall(add(std::move(reduce)), keepsOrder);
  }

  TestPlan plan{{{"data", 2}, {"model", 4}}};
};

TEST_F(LibraryCalls, CombineWhatTheLibraryDoes) {
  for (ElementType type : {ElementType::i8, ElementType::i32, ElementType::i64, ElementType::f16,
                           ElementType::bf16, ElementType::f32, ElementType::f64})
    EXPECT_TRUE(isReduced(ReductionKind::sum, type)) << plan::EnumNameElementType(type);
  EXPECT_TRUE(isReduced(ReductionKind::max, ElementType::i32));
  EXPECT_TRUE(isReduced(ReductionKind::any, ElementType::i1));
  EXPECT_FALSE(isReduced(ReductionKind::sum, ElementType::i16)) << "it has no such type";
  EXPECT_FALSE(isReduced(ReductionKind::max, ElementType::f32)) << "it loses NaN";
  EXPECT_FALSE(isReduced(ReductionKind::min, ElementType::bf16));
}

TEST_F(LibraryCalls, CombineNoFloatsInAnOrder) {
  EXPECT_FALSE(isReduced(ReductionKind::sum, ElementType::f32, /*keepsOrder=*/true));
  EXPECT_TRUE(isReduced(ReductionKind::sum, ElementType::i32, /*keepsOrder=*/true));
}

TEST_F(LibraryCalls, DoAnAllReduceInItsFirstHalf) {
  uint32_t source = plan.buffer(64), target = plan.buffer(64);
  uint32_t gather = plan.allReduce(ReductionKind::sum, ElementType::f32, source, target, 16, {}, 1);
  uint32_t reduce = plan.plan.commands[gather]->action.AsGatherParts()->reduce;
  EXPECT_TRUE(isCall(*plan.plan.commands[reduce]));
  EXPECT_TRUE(isCall(*plan.plan.commands[gather]));
  std::vector<LibraryCall> calls = callsOf(*plan.plan.commands[reduce]);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, Kind::allReduce);
  EXPECT_EQ(calls[0].from, 600 + source);
  EXPECT_EQ(calls[0].to, 600 + target);
  EXPECT_EQ(calls[0].count, 16u);
  EXPECT_EQ(calls[0].type, nccl::DataType::f32);
  EXPECT_TRUE(callsOf(*plan.plan.commands[gather]).empty());
}

TEST_F(LibraryCalls, GoFromAndToARoot) {
  plan::CopyFromRootT copy;
  copy.communicator = 1, copy.root = 3;
  copy.tensors.push_back(plan::GatheredTensorT());
  copy.tensors.back().type = ElementType::i16, copy.tensors.back().buffer = 5, copy.tensors.back().count = 7;
  std::vector<LibraryCall> calls = callsOf(add(std::move(copy)));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, Kind::broadcast);
  EXPECT_EQ(calls[0].member, 3);
  EXPECT_EQ(calls[0].count, 14u) << "bytes";
  EXPECT_EQ(calls[0].from, calls[0].to);
}

plan::GatherBlocksT gatherOf(int64_t outer) {
  plan::GatherBlocksT gather;
  gather.communicator = 1;
  gather.tensors.push_back(plan::GatheredBlocksT());
  gather.tensors.back().type = ElementType::f64, gather.tensors.back().outer = outer;
  gather.tensors.back().inner = 3;
  return gather;
}

TEST_F(LibraryCalls, GatherAlongTheFirstDimension) {
  EXPECT_FALSE(isCall(add(gatherOf(2))));
  const plan::CommandT &command = add(gatherOf(1));
  EXPECT_TRUE(isCall(command));
  std::vector<LibraryCall> calls = callsOf(command);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, Kind::allGather);
  EXPECT_EQ(calls[0].count, 24u);
}

plan::ReduceBlocksT scatterOf(std::vector<int64_t> shape, const test::Sharding &sharding) {
  plan::ReduceBlocksT reduce;
  reduce.communicator = 1;
  reduce.tensors.push_back(plan::ReducedBlocksT());
  plan::ReducedBlocksT &tensor = reduce.tensors.back();
  tensor.type = ElementType::f32, tensor.shape = std::move(shape);
  for (const auto &axes : sharding) {
    tensor.sharding.push_back(std::make_unique<plan::DimShardingT>());
    tensor.sharding.back()->axes = axes;
  }
  return reduce;
}

TEST_F(LibraryCalls, ScatterAlongTheFirstDimension) {
  const plan::CommandT &command = add(scatterOf({8, 3}, {{"model"}, {}}));
  EXPECT_TRUE(isCall(command));
  std::vector<LibraryCall> calls = callsOf(command);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].kind, Kind::reduceScatter);
  EXPECT_EQ(calls[0].count, 6u);
  EXPECT_FALSE(isCall(add(scatterOf({8, 4}, {{}, {"model"}}))));
  const plan::CommandT &half = add(scatterOf({16, 3}, {{"data", "model"}, {}}));
  EXPECT_TRUE(isCall(half));
  EXPECT_EQ(callsOf(half)[0].from, calls[0].from + 4 * 24) << "the second half of the tensor";
  EXPECT_FALSE(isCall(add(scatterOf({16, 3}, {{"model", "data"}, {}})))) << "its blocks are not neighbours";
}

} // namespace
} // namespace epl::runtime::cuda
