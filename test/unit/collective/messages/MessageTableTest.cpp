#include "runtime/collective/messages/MessageTable.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace epl::runtime::test {
namespace {

/// The tables of all processes of a plan.
class Tables {
public:
  Tables(plan::PlanT made, uint32_t numProcesses) : plan(std::move(made)), channels(plan) {
    uint32_t each = plan.devices / numProcesses;
    for (uint32_t process = 0; process < numProcesses; ++process) {
      std::vector<uint32_t> devices(each);
      std::iota(devices.begin(), devices.end(), process * each);
      ranks.push_back(std::make_unique<LocalRanks>(plan, devices));
      tables.push_back(
          std::make_unique<MessageTable>(plan, channels, *ranks.back(), Processes{process, each}));
    }
  }

  /// What goes between two processes, by number: the bytes of each end.
  using Ends = std::map<std::array<uint32_t, 3>, std::vector<uint64_t>>;
  Ends getEnds() const {
    Ends ends;
    std::vector<const plan::PlanT *> plans = meshPlansOf(plan);
    for (uint32_t process = 0; process < tables.size(); ++process)
      for (uint32_t part = 0; part < plans.size(); ++part)
        for (uint32_t command = 0; command < plans[part]->commands.size(); ++command) {
          for (const Message &message : tables[process]->sent(part, command))
            ends[{process, message.process, message.number}].push_back(bytesOf(message.runs));
          for (const Message &message : tables[process]->received(part, command))
            ends[{message.process, process, message.number}].push_back(bytesOf(message.runs));
        }
    return ends;
  }

  plan::PlanT plan;
  Channels channels;
  std::vector<std::unique_ptr<LocalRanks>> ranks;
  std::vector<std::unique_ptr<MessageTable>> tables;
};

/// Each number is of one message, which both know to be of so many bytes, and none is left out.
void expectPaired(const std::string &name, plan::PlanT plan, uint32_t processes) {
  std::map<std::array<uint32_t, 2>, uint32_t> next; // of each two processes
  for (const auto &[key, bytes] : Tables(std::move(plan), processes).getEnds()) {
    auto [from, to, number] = key;
    EXPECT_EQ(number, (next[{from, to}]++)) << name;
    ASSERT_EQ(bytes.size(), 2u) << name << ": from " << from << " to " << to << ", number " << number;
    EXPECT_EQ(bytes[0], bytes[1]) << name;
    EXPECT_GT(bytes[0], 0u) << name;
  }
}

TEST(MessageTable, NumbersAlikeOnBothSides) {
  std::vector<NamedPlan> plans = allPlans();
  plans.push_back({"side by side", sideBySidePlan()});
  for (NamedPlan &named : plans)
    for (uint32_t processes : {2u, 3u, 4u, 6u})
      if (named.plan.devices % processes == 0)
        expectPaired(named.name, plan::PlanT(named.plan), processes);
}

/// What rank 0 has goes to ranks 2 and 3 in one message.
TEST(MessageTable, HasAPieceOnceForEachProcess) {
  PlanMaker maker;
  maker.axis("data", 4);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 64, {"data"}), whole = maker.buffer("whole", 64);
  uint32_t result = maker.slot("whole", plan::SlotRole::result, 64);
  maker.gather("gather", all, x, whole, 1);
  maker.setResult(result, whole);
  Tables tables(maker.finish(), 2);
  uint64_t sum = 0;
  for (const auto &[key, bytes] : tables.getEnds())
    sum += bytes[0];
  EXPECT_EQ(sum, 2u * 2 * 16) << "of two ranks on each side, to the other";
  EXPECT_EQ(tables.getEnds().size(), 4u);
}

} // namespace
} // namespace epl::runtime::test
