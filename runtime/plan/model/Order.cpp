#include "runtime/plan/model/Order.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace epl::runtime {

Order::Order(const plan::PlanT &plan) : lanes(plan.lanes.size()) {
  std::map<std::string, uint32_t> sizes;
  for (const auto &axis : plan.axes)
    sizes[axis->name] = axis->size;
  std::map<std::string, Scope> bits;
  for (const auto &communicator : plan.communicators) {
    Scope scope = 0;
    for (const std::string &name : communicator->axes)
      if (sizes[name] > 1)
        scope |= bits.try_emplace(name, Scope(1) << bits.size()).first->second;
    scopes.push_back(scope);
  }
  scopeCount = size_t(1) << bits.size();

  lane.resize(plan.commands.size());
  position.resize(plan.commands.size());
  previous.assign(plan.commands.size(), -1);
  for (uint32_t l = 0; l < lanes; ++l) {
    const std::vector<uint32_t> &commands = plan.lanes[l]->commands;
    for (uint32_t i = 0; i < commands.size(); ++i) {
      assert(commands[i] < position.size() && position[commands[i]] == 0 && "each command is in one lane");
      lane[commands[i]] = l;
      position[commands[i]] = i + 1;
      previous[commands[i]] = i > 0 ? int64_t(commands[i - 1]) : -1;
    }
  }
  assert(std::ranges::find(position, 0u) == position.end() && "each command is in a lane");
  clocks.assign(plan.commands.size() * scopeCount * lanes, 0);
}

Order Order::of(const plan::PlanT &plan) {
  Order order(plan);
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    order.begin(command);
    for (const plan::Wait &wait : plan.commands[command]->waits)
      order.wait(command, wait.command(), order.scopeOf(wait));
  }
  return order;
}

Scope Order::scopeOf(const plan::Wait &wait) const {
  return wait.scope() == plan::WaitScope::members ? scopes[wait.communicator()] : 0;
}

void Order::begin(uint32_t command) {
  if (previous[command] >= 0)
    wait(command, uint32_t(previous[command]), 0);
}

void Order::wait(uint32_t command, uint32_t earlier, Scope scope) {
  assert(earlier < command && scope < scopeCount &&
         "a command waits for those before it, within the plan's axes");
  for (Scope target = 0; target < scopeCount; ++target) {
    // Of two ranks that differ in `target`, the wait is for `earlier` of both, or of the waiting one alone.
    bool isDirect = (target & ~scope) == 0;
    uint32_t *mine = clock(command, target);
    const uint32_t *other = clock(earlier, isDirect ? 0 : target);
    for (size_t l = 0; l < lanes; ++l)
      mine[l] = std::max(mine[l], other[l]);
    if (isDirect)
      mine[lane[earlier]] = std::max(mine[lane[earlier]], position[earlier]);
  }
}

bool Order::before(uint32_t earlier, uint32_t command, Scope scope) const {
  assert(earlier < lane.size() && command < lane.size() && scope < scopeCount &&
         "commands and axes of the plan");
  return clock(command, scope)[lane[earlier]] >= position[earlier];
}

} // namespace epl::runtime
