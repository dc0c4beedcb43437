#include "runtime/plan/model/Blocks.h"

#include "runtime/plan/model/Cost.h"
#include "runtime/plan/verify/Verifier.h"
#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The commands of blocksPlan.
enum : uint32_t { scatterRows = 1, toColumns = 2, scatterBlocks = 3, swap = 5 };

plan::ReduceBlocksT &reduceOf(plan::PlanT &plan, uint32_t command) {
  return *plan.commands[command]->action.AsReduceBlocks();
}
plan::ReducedBlocksT &scatterOf(plan::PlanT &plan, uint32_t command) {
  return reduceOf(plan, command).tensors[0];
}
plan::ExchangeBlocksT &exchangeOf(plan::PlanT &plan, uint32_t command) {
  return *plan.commands[command]->action.AsExchangeBlocks();
}

/// Where runs of a box begin, and how long they are.
std::vector<std::array<int64_t, 3>> runsOf(const SharedBox &box) {
  std::vector<std::array<int64_t, 3>> runs;
  box.forEachRun([&](int64_t source, int64_t target) { runs.push_back({source, target, box.run}); });
  return runs;
}
using Span = std::array<int64_t, 3>;

TEST(Blocks, ABlockOfRowsIsOneRun) {
  plan::PlanT plan = blocksPlan();
  EXPECT_THAT(runsOf(boxOf(plan, Mesh(plan), scatterOf(plan, scatterRows), 3)), ElementsAre(Span{32, 0, 32}));
}

/// Rank 1 is at data 0, model 1: rows 4 to 7, columns 0 to 3. The sum is over "model", "data" only slices.
TEST(Blocks, AxesOfOthersThanTheMembersSliceToo) {
  plan::PlanT plan = blocksPlan();
  EXPECT_THAT(runsOf(boxOf(plan, Mesh(plan), scatterOf(plan, scatterBlocks), 1)),
              ElementsAre(Span{32, 0, 4}, Span{40, 4, 4}, Span{48, 8, 4}, Span{56, 12, 4}));
}

/// Each takes a square from itself and one from the other, who is at the same "model".
TEST(Blocks, AnAllToAllTakesAPieceFromEachMember) {
  plan::PlanT plan = blocksPlan();
  std::vector<Piece> pieces = piecesOf(plan, Mesh(plan), exchangeOf(plan, toColumns), 1);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].holder, 1u);
  EXPECT_EQ(pieces[1].holder, 3u);
  EXPECT_THAT(runsOf(pieces[1].box),
              ElementsAre(Span{0, 16, 4}, Span{8, 20, 4}, Span{16, 24, 4}, Span{24, 28, 4}));
}

TEST(Blocks, APermutationTakesTheWholePartOfOne) {
  plan::PlanT plan = blocksPlan();
  for (uint32_t rank = 0; rank < 4; ++rank) {
    std::vector<Piece> pieces = piecesOf(plan, Mesh(plan), exchangeOf(plan, swap), rank);
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].holder, rank == 1 ? 2u : rank == 2 ? 1u : rank);
    EXPECT_THAT(runsOf(pieces[0].box), ElementsAre(Span{0, 0, 16}));
  }
}

/// Who holds the same elements as others does not ask the others.
TEST(Blocks, APieceComesFromTheNearestHolder) {
  plan::PlanT plan = blocksPlan();
  plan::ExchangeBlocksT &exchange = exchangeOf(plan, swap);
  exchange.from[1]->axes.clear();
  exchange.to[1]->axes.clear();
  std::vector<Piece> pieces = piecesOf(plan, Mesh(plan), exchange, 1);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].holder, 3u); // at model 1, too
  EXPECT_EQ(piecesOf(plan, Mesh(plan), exchange, 3)[0].holder, 3u);
}

TEST(Blocks, AnEmptyTensorHasNoPieces) {
  plan::PlanT plan = blocksPlan();
  exchangeOf(plan, toColumns).shape = {8, 0};
  EXPECT_TRUE(piecesOf(plan, Mesh(plan), exchangeOf(plan, toColumns), 0).empty());
}

TEST(Blocks, Costs) {
  plan::PlanT plan = blocksPlan();
  Cost scatter = costOf(plan, Mesh(plan), *plan.commands[scatterRows]);
  EXPECT_EQ(scatter.payload, 64u);
  EXPECT_EQ(scatter.bytes, 64u + 32);
  Cost exchange = costOf(plan, Mesh(plan), *plan.commands[toColumns]);
  EXPECT_EQ(exchange.payload, 32u);
  EXPECT_EQ(exchange.bytes, 2u * 32);
  EXPECT_EQ(kindOf(*plan.commands[swap]), CommandKind::collective);
}

struct BlocksCase {
  std::string name;
  void (*change)(plan::PlanT &);
  std::string message;
};

class BlocksRule : public testing::TestWithParam<BlocksCase> {};

TEST_P(BlocksRule, RejectsAPlanThatBreaksIt) {
  plan::PlanT plan = blocksPlan();
  GetParam().change(plan);
  EXPECT_THAT(verifyPlan(plan), testing::Contains(HasSubstr(GetParam().message)));
}

using plan::PlanT;
const BlocksCase blocksCases[] = {
    {"Communicator", [](PlanT &p) { reduceOf(p, scatterRows).communicator = 9; },
     "\"sum data\" names communicator 9 of 3"},
    {"ShardingRank", [](PlanT &p) { scatterOf(p, scatterRows).sharding.pop_back(); },
     "\"sum data\" has 2 dimensions and a sharding for 1"},
    {"UnknownAxis", [](PlanT &p) { scatterOf(p, scatterRows).sharding[0]->axes = {"micro"}; },
     "\"sum data\" splits dimension 0 by axis \"micro\", expected an axis of the mesh that splits nothing "
     "else"},
    {"AxisTwice", [](PlanT &p) { exchangeOf(p, toColumns).from[1]->axes = {"data"}; },
     "\"to columns\" splits dimension 1 by axis \"data\", expected an axis of the mesh that splits nothing "
     "else"},
    {"Divisible", [](PlanT &p) { scatterOf(p, scatterRows).shape = {7, 8}; },
     "\"sum data\" has size 7 in dimension 0, which 2 parts do not divide"},
    {"ScatterSource", [](PlanT &p) { scatterOf(p, scatterRows).shape = {10, 8}; },
     "\"sum data\" needs 80 bytes of buffer"},
    {"ScatterTarget", [](PlanT &p) { scatterOf(p, scatterRows).sharding[0]->axes.clear(); },
     "\"sum data\" needs 64 bytes of buffer"},
    {"ScatterOfNothing", [](PlanT &p) { reduceOf(p, scatterRows).tensors.clear(); },
     "has no tensors, expected at least one"},
    {"ScatterReduction", [](PlanT &p) { reduceOf(p, scatterRows).reduction = plan::ReductionKind::any; },
     "\"sum data\" combines i8 by any"},
    {"ScatterNegative", [](PlanT &p) { scatterOf(p, scatterRows).shape = {-8, 8}; },
     "\"sum data\" has a count of -8"},
    {"ExchangeMembers", [](PlanT &p) { exchangeOf(p, toColumns).to[1]->axes = {"model"}; },
     "\"to columns\" exchanges parts along axis \"model\", which communicator c0 does not have"},
    {"ExchangeSource", [](PlanT &p) { exchangeOf(p, toColumns).from[0]->axes.clear(); },
     "\"to columns\" needs 64 bytes of buffer"},
    {"ExchangeTarget", [](PlanT &p) { exchangeOf(p, toColumns).to[1]->axes.clear(); },
     "\"to columns\" needs 64 bytes of buffer"},
    {"ExchangeInPlace", [](PlanT &p) { exchangeOf(p, toColumns).target = exchangeOf(p, toColumns).source; },
     "\"to columns\" reads buffer"},
};

INSTANTIATE_TEST_SUITE_P(Commands, BlocksRule, testing::ValuesIn(blocksCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace epl::runtime::test
