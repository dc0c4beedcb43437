// The order of all ranks against its definition: reachability in the graph of (rank, command) instances of
// two ranks.

#include "runtime/plan/model/Order.h"

#include "test/unit/plan/Plans.h"

#include "runtime/plan/model/Mesh.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace epl::runtime::test {
namespace {

/// The order of two ranks, wherever all others are: for each of their instances, the set of those that end
/// before it begins.
class Reachability {
public:
  Reachability(const plan::PlanT &plan, const Mesh &mesh, uint32_t one, uint32_t other)
      : ranks{one, other}, commands(plan.commands.size()) {
    before.assign(2 * commands, std::vector<bool>(2 * commands));
    std::vector<int64_t> last(plan.lanes.size(), -1);
    for (uint32_t command = 0; command < commands; ++command) {
      const plan::CommandT &current = *plan.commands[command];
      for (uint32_t rank : ranks) {
        if (last[current.lane] >= 0)
          add(rank, uint32_t(last[current.lane]), rank, command);
        for (const plan::Wait &wait : current.waits)
          if (wait.scope() == plan::WaitScope::self)
            add(rank, wait.command(), rank, command);
          else
            for (uint32_t member : mesh.members(wait.communicator(), rank))
              if (member == one || member == other)
                add(member, wait.command(), rank, command);
      }
      last[current.lane] = command;
    }
  }

  bool holds(uint32_t rankA, uint32_t a, uint32_t rankB, uint32_t b) const {
    return before[index(rankB, b)][index(rankA, a)];
  }

private:
  size_t index(uint32_t rank, uint32_t command) const { return (rank == ranks[0] ? 0 : commands) + command; }

  void add(uint32_t rankA, uint32_t a, uint32_t rankB, uint32_t b) {
    std::vector<bool> &later = before[index(rankB, b)];
    const std::vector<bool> &earlier = before[index(rankA, a)];
    later[index(rankA, a)] = true;
    for (size_t i = 0; i < later.size(); ++i)
      later[i] = later[i] || earlier[i];
  }

  std::array<uint32_t, 2> ranks;
  size_t commands;
  std::vector<std::vector<bool>> before;
};

/// Replaces the waits of a plan by random ones.
void shuffleWaits(plan::PlanT &plan, std::mt19937 &random) {
  for (uint32_t command = 1; command < plan.commands.size(); ++command) {
    plan.commands[command]->waits.clear();
    for (unsigned i = random() % 3; i > 0; --i) {
      bool members = !plan.communicators.empty() && random() % 2;
      plan.commands[command]->waits.emplace_back(
          random() % command, members ? plan::WaitScope::members : plan::WaitScope::self,
          members ? uint32_t(random() % plan.communicators.size()) : 0);
    }
  }
}

TEST(Order, IsReachabilityOnAnyTwoRanks) {
  std::mt19937 random(7);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    plan::PlanT plan = randomPlan(seed);
    shuffleWaits(plan, random);
    Order order = Order::of(plan);
    Mesh mesh(plan);
    std::vector<Reachability> with; // rank 0 with each
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
      with.emplace_back(plan, mesh, 0, rank);
    // Every communicator spans a set of axes and every set of axes has one, so these are all scopes but {}.
    for (uint32_t c = 0; c < plan.communicators.size(); ++c)
      for (uint32_t a = 0; a < plan.commands.size(); ++a)
        for (uint32_t b = 0; b < plan.commands.size(); ++b) {
          bool all = true;
          for (uint32_t rank : mesh.members(c, 0))
            all = all && with[rank].holds(rank, a, 0, b);
          ASSERT_EQ(order.before(a, b, order.scopeOf(c)), all) << "seed " << seed << ": " << a << ", " << b;
          ASSERT_EQ(order.before(a, b, 0), with[0].holds(0, a, 0, b)) << "seed " << seed;
        }
  }
}

/// Rank 0 waits for rank 1, which waits for rank 3: that may be in another process than ranks 0 and 3.
TEST(Order, IsNotThatOfAThirdRank) {
  PlanMaker maker;
  maker.axis("x", 2);
  maker.axis("y", 2);
  uint32_t alongX = maker.addCommunicator({"x"}), alongY = maker.addCommunicator({"y"}),
           both = maker.addCommunicator({"x", "y"});
  uint32_t a = maker.buffer("a", 1), b = maker.buffer("b", 1), c = maker.buffer("c", 1);
  maker.run("first", {}, {a});
  maker.run("second", {}, {b});
  maker.run("third", {}, {c});
  plan::PlanT plan = maker.finish();
  plan.commands[1]->waits = {{0, plan::WaitScope::members, alongX}};
  plan.commands[2]->waits = {{1, plan::WaitScope::members, alongY}};
  Order order = Order::of(plan);
  EXPECT_TRUE(order.before(0, 2, order.scopeOf(alongX)));
  EXPECT_TRUE(order.before(0, 2, order.scopeOf(alongY)));
  EXPECT_FALSE(order.before(0, 2, order.scopeOf(both)));
}

} // namespace
} // namespace epl::runtime::test
