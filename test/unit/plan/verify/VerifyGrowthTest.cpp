// How the work of the proof grows: counts of states that it looks at, not times, so that they are the same on
// every machine.

#include "test/unit/plan/Plans.h"
#include "test/unit/plan/TrainingLoop.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/verify/VerifyStages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

uint64_t visitsOf(const plan::PlanT &plan) {
  Report report;
  uint64_t visits = checkMemory(plan, report);
  EXPECT_THAT(report.take(), testing::IsEmpty());
  return visits;
}

TEST(VerifyGrowth, TwiceThePlanTakesTwiceTheVisits) {
  uint64_t half = visitsOf(trainingLoop({.iterations = 10})),
           full = visitsOf(trainingLoop({.iterations = 20}));
  EXPECT_GT(half, uint64_t(10) * 4 * loopCommands);
  EXPECT_LE(double(full), 2.2 * double(half));
}

TEST(VerifyGrowth, RanksAreReplayedOnce) {
  uint64_t two = visitsOf(trainingLoop({.iterations = 5, .data = 2}));
  EXPECT_LE(double(visitsOf(trainingLoop({.iterations = 5, .data = 8}))), 1.05 * double(two));
  EXPECT_LE(double(visitsOf(trainingLoop({.iterations = 5, .data = 64}))), 1.05 * double(two));
  EXPECT_LE(double(visitsOf(trainingLoop({.iterations = 5, .data = 64, .model = 16}))), 1.05 * double(two));
}

/// Each of many reads of scattered bytes leaves its own; a read of all bytes makes one piece of them again.
TEST(VerifyGrowth, ReadsJoinThePiecesThatReadsMade) {
  auto visits = [](uint32_t reads) {
    PlanMaker maker;
    uint32_t x = maker.argument("x", plan::SlotRole::batch, 4096);
    uint32_t sum = maker.buffer("sum", 4096), slot = maker.slot("y", plan::SlotRole::result, 4096);
    maker.run("first", {x}, {sum});
    for (uint32_t i = 0; i < reads; ++i) {
      uint32_t part = maker.buffer("part", 16);
      plan::CopyT copy;
      copy.source = x, copy.target = part, copy.from = uint64_t(i) * 16, copy.size = 16;
      maker.copy({.name = "part", .location = "", .work = ""}, copy);
      maker.run("all", {x, part, sum}, {sum}, {2});
    }
    maker.setResult(slot, sum);
    return visitsOf(maker.finish());
  };
  EXPECT_LE(double(visits(200)), 2.2 * double(visits(100)));
}

/// Large numbers in a small plan: rows of a contraction that are apart, and other commands that read them.
TEST(VerifyGrowth, RangesAreVisitedOnceForEachAccess) {
  auto visits = [](int64_t rows) {
    PlanMaker maker;
    uint32_t a = maker.argument("a", plan::SlotRole::batch, rows * 8),
             b = maker.argument("b", plan::SlotRole::batch, 4);
    uint32_t c = maker.buffer("c", uint64_t(rows) * 4),
             slot = maker.slot("c", plan::SlotRole::result, rows * 4);
    plan::ContractT contract;
    contract.type = plan::ElementType::f32;
    contract.a = a, contract.b = b, contract.c = c;
    contract.m = rows, contract.n = contract.k = contract.ldb = contract.ldc = 1;
    contract.lda = 2;
    for (int i = 0; i < 4; ++i)
      maker.contract({.name = "product", .location = "", .work = ""}, contract);
    maker.setResult(slot, c);
    return visitsOf(maker.finish());
  };
  EXPECT_LE(double(visits(20000)), 2.2 * double(visits(10000)));
}

/// One source of many sums, each over another number of its elements: no command of the compiler makes that.
TEST(VerifyGrowth, TooManyCutsOfOneSourceAreAnError) {
  PlanMaker maker;
  maker.axis("data", 3);
  maker.axis("model", 2);
  uint32_t both = maker.addCommunicator({"data", "model"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 40000);
  for (int64_t count = 4096; count < 4096 + 60 * 400; count += 400) {
    plan::ReducePartT reduce;
    reduce.communicator = both;
    plan::ReducedTensorT &tensor = reduce.tensors.emplace_back();
    tensor.type = plan::ElementType::i8;
    tensor.source = x, tensor.target = maker.buffer("sum", uint64_t(count)), tensor.count = count;
    maker.allReduce({.name = "sum", .location = "", .work = ""}, std::move(reduce));
  }
  EXPECT_THAT(
      [&] { maker.finish(); },
      testing::ThrowsMessage<PlanError>(testing::HasSubstr(
          "in parts of too many all-reduces of different members or tensors, none of which writes "
          "them, or in memory of too many owners: ranks differ in more than 128 ways, expected a command "
          "that writes them as a whole in between")));
}

} // namespace
} // namespace epl::runtime::test
