// The order of all ranks against its definition: reachability in the graph of (rank, command) instances.

#include "runtime/plan/model/Order.h"

#include "test/unit/plan/Plans.h"

#include "runtime/plan/model/Mesh.h"

#include <gtest/gtest.h>

#include <random>

namespace epl::runtime::test {
namespace {

/// For each instance, the set of instances that end before it begins.
class Reachability {
public:
  explicit Reachability(const plan::PlanT &plan) : mesh(plan), commands(plan.commands.size()) {
    size_t instances = mesh.devices() * commands;
    before.assign(instances, std::vector<bool>(instances));
    std::vector<int64_t> last(plan.lanes.size(), -1);
    for (uint32_t command = 0; command < commands; ++command) {
      const plan::CommandT &current = *plan.commands[command];
      for (uint32_t rank = 0; rank < mesh.devices(); ++rank) {
        if (last[current.lane] >= 0)
          add(rank, uint32_t(last[current.lane]), rank, command);
        for (const plan::Wait &wait : current.waits)
          if (wait.scope() == plan::WaitScope::self)
            add(rank, wait.command(), rank, command);
          else
            for (uint32_t member : mesh.members(wait.communicator(), rank))
              add(member, wait.command(), rank, command);
      }
      last[current.lane] = command;
    }
  }

  bool holds(uint32_t rankA, uint32_t a, uint32_t rankB, uint32_t b) const {
    return before[index(rankB, b)][index(rankA, a)];
  }

  const Mesh mesh;

private:
  size_t index(uint32_t rank, uint32_t command) const { return command * mesh.devices() + rank; }

  void add(uint32_t rankA, uint32_t a, uint32_t rankB, uint32_t b) {
    std::vector<bool> &later = before[index(rankB, b)];
    const std::vector<bool> &earlier = before[index(rankA, a)];
    later[index(rankA, a)] = true;
    for (size_t i = 0; i < later.size(); ++i)
      later[i] = later[i] || earlier[i];
  }

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

TEST(Order, IsReachabilityOnAllRanks) {
  std::mt19937 random(7);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    plan::PlanT plan = randomPlan(seed);
    shuffleWaits(plan, random);
    Order order = Order::of(plan);
    Reachability expected(plan);
    // Every communicator spans a set of axes and every set of axes has one, so these are all scopes but {}.
    for (uint32_t c = 0; c < plan.communicators.size(); ++c)
      for (uint32_t a = 0; a < plan.commands.size(); ++a)
        for (uint32_t b = 0; b < plan.commands.size(); ++b) {
          bool all = true;
          for (uint32_t rank : expected.mesh.members(c, 0))
            all = all && expected.holds(rank, a, 0, b);
          ASSERT_EQ(order.before(a, b, order.scopeOf(c)), all) << "seed " << seed << ": " << a << ", " << b;
          ASSERT_EQ(order.before(a, b, 0), expected.holds(0, a, 0, b)) << "seed " << seed;
        }
  }
}

} // namespace
} // namespace epl::runtime::test
