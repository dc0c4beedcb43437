//===- PlanReshardTest.cpp - The reshard algebra on index sets ------------===//
//
// Every pair of shardings on small meshes: the steps of `planReshard` are run on what each rank holds, as
// boxes of global indices and sets of addends of the pending sum. After each step ranks hold what the
// sharding says, and what each one has received is compared with the least that is possible.
//
//===----------------------------------------------------------------------===//

#include "test/unit/shard/World.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

using Kind = ReshardStep::Kind;

std::string describe(ShardingAttr from, ShardingAttr to, ArrayRef<ReshardStep> steps) {
  static constexpr StringRef names[] = {"slice",   "reduce_scatter", "all_reduce", "all_to_all",
                                        "permute", "all_gather",     "mask"};
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << from << " to " << to;
  for (const ReshardStep &step : steps)
    stream << "\n  " << names[size_t(step.kind)] << " to " << step.to;
  return text;
}

struct Setting {
  std::vector<int64_t> mesh, shape;
};

/// What the names of tests say.
void PrintTo(const Setting &setting, std::ostream *os) {
  *os << "mesh " << testing::PrintToString(setting.mesh) << ", shape "
      << testing::PrintToString(setting.shape);
}

class PlanReshardTest : public ::testing::TestWithParam<Setting> {
protected:
  PlanReshardTest() { context.loadDialect<EplDialect>(); }

  SmallVector<ReshardStep> plan(const World &world, ShardingAttr from, ShardingAttr to) {
    return planReshard(world.getType(), from, to, world.getMesh());
  }

  void checkPair(const World &world, ShardingAttr from, ShardingAttr to) {
    SmallVector<ReshardStep> steps = plan(world, from, to);
    ShardingAttr now = from;
    std::vector<Holding> holdings = world.begin(from);
    std::vector<int64_t> received(world.getNumRanks());
    for (const ReshardStep &step : steps) {
      holdings = world.run(step, now, holdings, received);
      now = step.to;
      ASSERT_TRUE(!HasFailure() && world.isRight(holdings, now, from)) << describe(from, to, steps);
    }
    ASSERT_EQ(now, to);
    for (size_t rank = 0; rank < world.getNumRanks(); ++rank) {
      int64_t bound = world.getBound(from, to, rank), naive = world.getNaive(from, to, rank);
      ASSERT_TRUE(bound < 0 || received[rank] == bound)
          << received[rank] << " twelfths, not " << bound << ": " << describe(from, to, steps);
      ASSERT_LE(received[rank], naive) << describe(from, to, steps);
    }
  }

  MLIRContext context;
};

TEST_P(PlanReshardTest, EveryPairEndsWhereItsShardingsSay) {
  World world(context, GetParam().mesh, GetParam().shape);
  std::vector<ShardingAttr> shardings = world.getShardings();
  for (ShardingAttr from : shardings)
    for (ShardingAttr to : shardings)
      if (!HasFailure())
        checkPair(world, from, to);
}

TEST_P(PlanReshardTest, EqualShardingsNeedNoStep) {
  World world(context, GetParam().mesh, GetParam().shape);
  for (ShardingAttr sharding : world.getShardings())
    EXPECT_TRUE(plan(world, sharding, sharding).empty());
}

/// Extents of 12 are divided by all axes together; others are not, so that fewer steps are possible.
INSTANTIATE_TEST_SUITE_P(Settings, PlanReshardTest,
                         ::testing::Values(Setting{{1}, {12}}, Setting{{2}, {12, 12}}, Setting{{2, 3}, {}},
                                           Setting{{2, 3}, {12, 12, 12}}, Setting{{2, 3, 2}, {12}},
                                           Setting{{2, 3, 2}, {12, 12}}, Setting{{2, 3, 2}, {12, 12, 12}},
                                           Setting{{2, 3, 2}, {6, 4, 3}}, Setting{{2, 2}, {2, 4}}));

class ReshardSteps : public PlanReshardTest {
protected:
  ShardingAttr sharding(std::vector<SmallVector<StringRef>> dims, SmallVector<StringRef> partial = {},
                        ReductionKind reduction = ReductionKind::sum) {
    return ShardingAttr::get(&context, FlatSymbolRefAttr::get(&context, "mesh"), dims, partial, reduction);
  }

  std::vector<Kind> kinds(ShardingAttr from, ShardingAttr to) {
    World world(context, {2, 2}, {8, 8});
    std::vector<Kind> kinds;
    for (const ReshardStep &step : plan(world, from, to))
      kinds.push_back(step.kind);
    return kinds;
  }
};
using Kinds = std::vector<Kind>;

TEST_F(ReshardSteps, OneStepWhereOneIsEnough) {
  EXPECT_EQ(kinds(sharding({{}, {}}), sharding({{"0"}, {"1"}})), Kinds{Kind::slice});
  EXPECT_EQ(kinds(sharding({{"0"}, {}}), sharding({{}, {"0"}})), Kinds{Kind::allToAll});
  EXPECT_EQ(kinds(sharding({{"0"}, {"1"}}), sharding({{"1"}, {"0"}})), Kinds{Kind::permute});
  EXPECT_EQ(kinds(sharding({{"0", "1"}, {}}), sharding({{"1", "0"}, {}})), Kinds{Kind::permute});
  EXPECT_EQ(kinds(sharding({{"0"}, {}}), sharding({{"1"}, {}})), Kinds{Kind::permute});
  EXPECT_EQ(kinds(sharding({{}, {}}, {"0"}), sharding({{"0"}, {"1"}})), Kinds{Kind::reduceScatter});
  EXPECT_EQ(kinds(sharding({{}, {}}, {"0", "1"}), sharding({{"0"}, {"1"}})), Kinds{Kind::reduceScatter});
  EXPECT_EQ(kinds(sharding({{}, {}}, {"0", "1"}), sharding({{}, {}}, {"1"})), Kinds{Kind::allReduce});
  EXPECT_EQ(kinds(sharding({{}, {}}), sharding({{}, {}}, {"1"})), Kinds{Kind::mask});
}

TEST_F(ReshardSteps, TheTensorIsSmallWhenItMoves) {
  EXPECT_EQ(kinds(sharding({{"0"}, {}}), sharding({{}, {"1"}})), (Kinds{Kind::slice, Kind::allGather}));
  EXPECT_EQ(kinds(sharding({{}, {}}, {"0"}), sharding({{}, {"1"}})), (Kinds{Kind::slice, Kind::allReduce}));
  EXPECT_EQ(kinds(sharding({{"1"}, {}}, {"0"}), sharding({{"0", "1"}, {}})),
            (Kinds{Kind::reduceScatter, Kind::permute}));
}

TEST_F(ReshardSteps, AnotherReductionIsCompleteFirst) {
  EXPECT_EQ(kinds(sharding({{}, {}}, {"0"}), sharding({{}, {}}, {"0"}, ReductionKind::max)),
            (Kinds{Kind::allReduce, Kind::mask}));
}

} // namespace
