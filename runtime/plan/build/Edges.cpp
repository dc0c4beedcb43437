#include "runtime/plan/build/Edges.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Order.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace epl::runtime {
namespace {

/// An access and the command that makes it.
struct Touch {
  uint32_t command;
  Access access;
};

/// The wait that puts one access behind an earlier one to the same memory. At most one of the two is remote:
/// only reads are. The instance that it belongs to may be any member's, so all members' are waited for.
plan::Wait waitFor(const Touch &earlier, const Access &later) {
  if (earlier.access.remote)
    return {earlier.command, plan::WaitScope::members, earlier.access.communicator};
  if (later.remote)
    return {earlier.command, plan::WaitScope::members, later.communicator};
  return {earlier.command, plan::WaitScope::self, 0};
}

auto key(const plan::Wait &wait) { return std::tuple(wait.command(), wait.scope(), wait.communicator()); }

void sortWaits(std::vector<plan::Wait> &waits) {
  std::ranges::sort(waits, {}, key);
  auto repeated = std::ranges::unique(waits, {}, key);
  waits.erase(repeated.begin(), repeated.end());
}

/// The waits of `command` that neither its lane nor the others imply. A later command may imply an earlier
/// one and a wide scope a narrow one, never the reverse, so one pass from the strongest finds them all.
std::vector<plan::Wait> neededWaits(const plan::PlanT &plan, uint32_t command, Order &order) {
  std::vector<plan::Wait> waits = plan.commands[command]->waits, needed;
  std::ranges::sort(waits, std::greater(), [&](const plan::Wait &wait) {
    return std::pair(wait.command(), std::popcount(order.scopeOf(wait)));
  });
  order.begin(command);
  for (const plan::Wait &wait : waits) {
    Scope scope = order.scopeOf(wait);
    if (order.before(wait.command(), command, scope))
      continue;
    order.wait(command, wait.command(), scope);
    needed.push_back(wait);
  }
  return needed;
}

} // namespace

void addEdges(plan::PlanT &plan) {
  Mesh mesh(plan);
  std::vector<std::vector<Touch>> touches(plan.buffers.size());
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    std::vector<plan::Wait> &waits = plan.commands[command]->waits;
    std::vector<Access> accesses = accessesOf(plan, mesh, *plan.commands[command]);
    for (const Access &access : accesses)
      for (const Touch &earlier : touches[access.buffer])
        if ((earlier.access.write || access.write) && mayOverlap(earlier.access, access))
          waits.push_back(waitFor(earlier, access));
    for (Access &access : accesses)
      touches[access.buffer].push_back({command, std::move(access)});
    sortWaits(waits);
  }
}

void elideEdges(plan::PlanT &plan) {
  Order order(plan);
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    plan.commands[command]->waits = neededWaits(plan, command, order);
    sortWaits(plan.commands[command]->waits);
  }
}

} // namespace epl::runtime
