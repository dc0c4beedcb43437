#include "runtime/plan/model/Cost.h"

#include "runtime/plan/model/Lifetime.h"
#include "runtime/plan/model/Summary.h"
#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

Cost costOfCommand(const plan::PlanT &plan, uint32_t command) {
  return costOf(plan, Mesh(plan), *plan.commands[command]);
}

/// Two members: each reads its half of both tensors and writes it, then copies the other half.
TEST(Cost, OfTheHalvesOfAnAllReduce) {
  plan::PlanT plan = trainingPlan(2);
  Cost reduce = costOfCommand(plan, 6), gather = costOfCommand(plan, 7);
  EXPECT_EQ(reduce.payload, 192U);
  EXPECT_EQ(reduce.bytes, 192U + 96);
  EXPECT_EQ(gather.payload, 192U);
  EXPECT_EQ(gather.bytes, 2U * 96);
  EXPECT_EQ(reduce.received, 96U);
  EXPECT_EQ(gather.received, 96U);
  EXPECT_EQ(kindOf(*plan.commands[6]), CommandKind::collective);
}

/// Six members: of 1, 37 and 128 bytes each owns about a sixth, whose share is rounded down.
TEST(Cost, OfAnAllReduceOfSeveralTensors) {
  plan::PlanT plan = sumsPlan();
  Cost reduce = costOfCommand(plan, 2), gather = costOfCommand(plan, 3);
  EXPECT_EQ(reduce.payload, 1U + 37 + 128);
  EXPECT_EQ(reduce.bytes, 1U + (37 + 6) + (128 + 21));
  EXPECT_EQ(gather.received, 1U + (37 - 6) + (128 - 21));
  EXPECT_EQ(summarize(plan).collectives, 2U);
}

TEST(Cost, OfScatteringAndGatheringSeveralTensors) {
  plan::PlanT plan = sharedStatePlan();
  EXPECT_EQ(costOfCommand(plan, 1).received, 32U + 3);
  EXPECT_EQ(costOfCommand(plan, 4).received, 32U + 3);
  EXPECT_EQ(costOfCommand(plan, 4).payload, 64U + 6);
}

/// What is its own already comes from nobody.
TEST(Cost, OfWhatOthersHold) {
  plan::PlanT blocks = blocksPlan(), gathers = gatherPlan();
  EXPECT_EQ(costOfCommand(blocks, 1).received, 32U);   // the half of 64 bytes from one other
  EXPECT_EQ(costOfCommand(blocks, 2).received, 16U);   // of 32 bytes, half are its own
  EXPECT_EQ(costOfCommand(blocks, 5).received, 8U);    // two of four swap 16 bytes
  EXPECT_EQ(costOfCommand(gathers, 0).received, 128U); // of three parts of 64 bytes two
  EXPECT_EQ(summarize(gathers).receivedBytes,
            128U + 192 + costOfCommand(gathers, 4).received + costOfCommand(gathers, 5).received);
}

TEST(Cost, OfALaunchCountsItsWorkspace) {
  plan::PlanT plan = trainingPlan(2);
  EXPECT_EQ(costOfCommand(plan, 1).bytes, 192U + 256 + 256 + 100);
  EXPECT_EQ(costOfCommand(plan, 1).payload, 0U);
}

TEST(Cost, OfContractionsOfAnySize) {
  plan::PlanT plan;
  for (uint64_t size : {24U, 48U, 32U}) {
    plan.buffers.push_back(std::make_unique<plan::BufferT>());
    plan.buffers.back()->size = size;
  }
  plan::CommandT command;
  plan::ContractT contract;
  contract.a = 0, contract.b = 1, contract.c = 2;
  contract.m = 2, contract.n = 4, contract.k = 3;
  contract.batch = {plan::BatchDim(5, 0, 0, 0)};
  command.action.Set(contract);
  EXPECT_EQ(costOf(plan, Mesh(plan), command).flops, 2 * 2 * 4 * 3 * 5);
  EXPECT_EQ(costOf(plan, Mesh(plan), command).bytes, 24U + 48 + 32);
  command.action.AsContract()->accumulate = true;
  EXPECT_EQ(costOf(plan, Mesh(plan), command).bytes, 24U + 48 + 32 + 32);
  command.action.AsContract()->m = command.action.AsContract()->n = int64_t(1) << 40;
  EXPECT_GT(costOf(plan, Mesh(plan), command).flops, int64_t(1) << 62);
}

/// d2 lies over h2, which loss reads while it writes: with both counted, that command would be the peak.
TEST(Lifetime, BytesThatAnOutputSharesCountOnce) {
  plan::PlanT plan = trainingPlan(2);
  Peak peak = peakOf(plan);
  EXPECT_LE(peak.bytes, plan.arena_size);
  for (const Lifetime &lifetime : peak.live) {
    EXPECT_LE(lifetime.first, peak.command);
    EXPECT_GE(lifetime.last, peak.command);
  }
  EXPECT_EQ(peak.command, 5U); // h1, d2, g2
  EXPECT_EQ(peak.bytes, 256U + 256 + 192);
}

TEST(Lifetime, SlotsHaveNone) {
  plan::PlanT plan = trainingPlan(2);
  for (const Lifetime &lifetime : lifetimesOf(plan))
    EXPECT_LT(plan.buffers[lifetime.buffer]->slot, 0);
  EXPECT_EQ(lifetimesOf(plan).size(), 8U);
}

TEST(Lifetime, NothingIsLiveInAnEmptyPlan) { EXPECT_EQ(peakOf(plan::PlanT()).bytes, 0U); }

} // namespace
} // namespace epl::runtime::test
