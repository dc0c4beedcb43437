#include "runtime/plan/model/Runs.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace epl::runtime::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool operator<=(ByteRange inner, ByteRange outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// Whether a command may read these bytes of a buffer in the memory of `holder`.
bool mayRead(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command, const ByteRun &run,
             uint32_t holder) {
  for (const Access &access : accessesOf(plan, mesh, command))
    if (access.remote && access.buffer == run.buffer)
      for (ByteRange range : rangesOf(access, mesh, holder))
        if (run.bytes <= range)
          return true;
  return false;
}

/// The first command with an action of this kind.
template <typename Is> const plan::CommandT &find(const plan::PlanT &plan, Is is) {
  for (const auto &command : plan.commands)
    if (is(command->action))
      return *command;
  throw std::logic_error("no such command");
}

/// Calls `visit` with each command, reader, holder and what the one reads of the other.
template <typename Visit> void forEachPair(const plan::PlanT &plan, const Visit &visit) {
  Mesh mesh(plan);
  for (const auto &command : plan.commands)
    for (uint32_t reader = 0; reader < mesh.devices(); ++reader)
      for (uint32_t holder = 0; holder < mesh.devices(); ++holder)
        if (reader != holder)
          visit(mesh, *command, reader, holder, runsOf(plan, mesh, *command, reader, holder));
}

/// All plans of the tests, and many random ones.
std::vector<NamedPlan> manyPlans() {
  std::vector<NamedPlan> plans = allPlans();
  for (uint64_t seed = 0; seed < 30; ++seed)
    plans.push_back({"random " + std::to_string(seed), randomPlan(seed)});
  return plans;
}

/// What any rank reads in another's memory is what the proofs of a plan know. Both are functions of a command
/// alone, so that no plan can make them differ, and the verifier need not ask.
TEST(Runs, AreWithinTheAccessesToOtherRanks) {
  size_t numRuns = 0;
  for (const NamedPlan &named : manyPlans())
    forEachPair(named.plan, [&](const Mesh &mesh, const plan::CommandT &command, uint32_t reader,
                                uint32_t holder, const std::vector<ByteRun> &runs) {
      for (const ByteRun &run : runs)
        EXPECT_TRUE(mayRead(named.plan, mesh, command, run, holder))
            << named.name << ": " << command.name << " on " << reader << " of " << holder;
      numRuns += runs.size();
    });
  EXPECT_GT(numRuns, 1000u);
}

/// Nor do the proofs know of more: of sums and gathers all that others may read is read by some. (Blocks that
/// are exchanged are known as whole tensors.)
TEST(Runs, AreAllOfTheAccessesToOtherRanks) {
  using Key = std::tuple<const plan::CommandT *, uint32_t, uint32_t>; // command, holder, buffer
  for (const NamedPlan &named : manyPlans()) {
    Mesh mesh(named.plan);
    std::map<Key, std::set<uint64_t>> read;
    forEachPair(named.plan, [&](const Mesh &, const plan::CommandT &command, uint32_t, uint32_t holder,
                                const std::vector<ByteRun> &runs) {
      for (const ByteRun &run : runs)
        for (uint64_t byte = run.bytes.begin; byte < run.bytes.end; ++byte)
          read[{&command, holder, run.buffer}].insert(byte);
    });
    for (const auto &command : named.plan.commands)
      for (const Access &access : accessesOf(named.plan, mesh, *command)) {
        bool isWhole = command->action.AsReduceBlocks() || command->action.AsExchangeBlocks();
        if (!access.remote || isWhole || mesh.memberCount(access.communicator) == 1)
          continue;
        for (uint32_t holder = 0; holder < mesh.devices(); ++holder)
          for (ByteRange range : rangesOf(access, mesh, holder))
            for (uint64_t byte = range.begin; byte < range.end; ++byte)
              ASSERT_TRUE(read[Key(command.get(), holder, access.buffer)].contains(byte))
                  << named.name << ": " << command->name << ", rank " << holder << ", byte " << byte;
      }
  }
}

/// A sum is combined in parts, each by the rank that owns it: 16 elements at a time.
TEST(Runs, OfASumAreThePartsOfTheReaderAndOfTheHolder) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 80, {"data"}), sum = maker.buffer("sum", 40);
  uint32_t result = maker.slot("sum", plan::SlotRole::result, 40);
  maker.sum("sum", all, x, sum);
  maker.setResult(result, sum);
  plan::PlanT plan = maker.finish();
  Mesh mesh(plan);
  const plan::CommandT &reduce = find(plan, [](auto &action) { return action.AsReducePart() != nullptr; });
  const plan::CommandT &gather = find(plan, [](auto &action) { return action.AsGatherParts() != nullptr; });
  EXPECT_THAT(runsOf(plan, mesh, reduce, 0, 1), ElementsAre(ByteRun{x, {0, 16}}));
  EXPECT_THAT(runsOf(plan, mesh, reduce, 1, 0), ElementsAre(ByteRun{x, {16, 40}}));
  EXPECT_THAT(runsOf(plan, mesh, gather, 0, 1), ElementsAre(ByteRun{sum, {16, 40}}));
  EXPECT_THAT(runsOf(plan, mesh, gather, 1, 0), ElementsAre(ByteRun{sum, {0, 16}}));
}

/// Rank 1 is at data 0, model 1, rank 3 at data 1, model 1: each has four rows of eight columns.
TEST(Runs, OfBoxesAreTheirRows) {
  plan::PlanT plan = blocksPlan();
  Mesh mesh(plan);
  const plan::CommandT &toColumns =
      find(plan, [](auto &action) { return action.AsExchangeBlocks() != nullptr; });
  uint32_t source = toColumns.action.AsExchangeBlocks()->source;
  EXPECT_THAT(runsOf(plan, mesh, toColumns, 1, 3),
              ElementsAre(ByteRun{source, {0, 4}}, ByteRun{source, {8, 12}}, ByteRun{source, {16, 20}},
                          ByteRun{source, {24, 28}}));
  EXPECT_EQ(bytesOf(runsOf(plan, mesh, toColumns, 1, 3)), 16u);
  EXPECT_THAT(runsOf(plan, mesh, toColumns, 1, 0), IsEmpty()) << "no member of the reader's communicator";
}

TEST(Runs, OfACommandOnOneRankAreNone) {
  plan::PlanT plan = trainingPlan(2);
  const plan::CommandT &launch = find(plan, [](auto &action) { return action.AsLaunch() != nullptr; });
  EXPECT_THAT(runsOf(plan, Mesh(plan), launch, 0, 1), IsEmpty());
}

} // namespace
} // namespace epl::runtime::test
