// Mutations of edges, lanes and the order of commands.

#include "test/unit/mutation/Mutations.h"

#include "runtime/plan/model/Mesh.h"
#include "runtime/plan/model/Origins.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace epl::runtime::test {
namespace {

std::string number(uint32_t command) { return "#" + std::to_string(command); }

/// Which commands run before and behind each: edges are lanes and waits.
struct Order {
  std::vector<std::vector<uint32_t>> before, behind;

  explicit Order(const plan::PlanT &plan) : before(plan.commands.size()), behind(plan.commands.size()) {
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      for (const plan::Wait &wait : plan.commands[command]->waits)
        add(wait.command(), command);
    for (const auto &lane : plan.lanes)
      for (size_t next = 1; next < lane->commands.size(); ++next)
        add(lane->commands[next - 1], lane->commands[next]);
  }

  void add(uint32_t earlier, uint32_t later) {
    behind[earlier].push_back(later);
    before[later].push_back(earlier);
  }

  /// Adds what can be reached from a command, itself among it, as messages name it.
  static void addReached(const std::vector<std::vector<uint32_t>> &edges, uint32_t from,
                         std::vector<std::string> &names) {
    std::set<uint32_t> seen = {from};
    std::vector<uint32_t> open = {from};
    while (!open.empty()) {
      uint32_t next = open.back();
      open.pop_back();
      names.push_back(number(next) + " ");
      for (uint32_t other : edges[next])
        if (seen.insert(other).second)
          open.push_back(other);
    }
  }
};

/// A mutation for each wait, with what `make` does to it. A message names commands that the wait orders: its
/// own, or some before the one or behind the other.
template <typename Change>
std::vector<Mutation> eachWait(const plan::PlanT &plan, const char *what, const Change &change) {
  std::vector<Mutation> list;
  Order order(plan);
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (size_t wait = 0; wait < plan.commands[command]->waits.size(); ++wait) {
      uint32_t earlier = plan.commands[command]->waits[wait].command();
      std::vector<std::string> names = {number(earlier), number(command)};
      Order::addReached(order.before, earlier, names);
      Order::addReached(order.behind, command, names);
      list.push_back({"edge " + number(earlier) + " to " + number(command) + " " + what, std::move(names),
                      [=](plan::PlanT &mutant) { change(mutant, command, wait); }});
    }
  return list;
}

void dropWait(plan::PlanT &plan, uint32_t command, size_t wait) {
  std::vector<plan::Wait> &waits = plan.commands[command]->waits;
  waits.erase(waits.begin() + int64_t(wait));
}

std::vector<Mutation> droppedEdges(const plan::PlanT &plan) { return eachWait(plan, "dropped", dropWait); }

std::vector<Mutation> narrowedEdges(const plan::PlanT &plan) {
  // Where the wait is for the own rank anyway, nothing changes, and the mutant does not count.
  return eachWait(plan, "narrowed", [](plan::PlanT &mutant, uint32_t command, size_t wait) {
    plan::Wait &old = mutant.commands[command]->waits[wait];
    old = plan::Wait(old.command(), plan::WaitScope::self, 0);
  });
}

std::vector<Mutation> edgesFromBefore(const plan::PlanT &plan) {
  return eachWait(plan, "from the command before", [](plan::PlanT &mutant, uint32_t command, size_t wait) {
    plan::Wait &old = mutant.commands[command]->waits[wait];
    old = plan::Wait(old.command() - 1, old.scope(), old.communicator());
  });
}

std::vector<Mutation> turnedEdges(const plan::PlanT &plan) {
  return eachWait(plan, "turned round", [](plan::PlanT &mutant, uint32_t command, size_t wait) {
    plan::Wait old = mutant.commands[command]->waits[wait];
    dropWait(mutant, command, wait);
    mutant.commands[old.command()]->waits.emplace_back(command, old.scope(), old.communicator());
  });
}

/// More order than needed does no harm.
std::vector<Mutation> addedEdges(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t command = 1; command < plan.commands.size(); ++command)
    list.push_back({"edge added to " + number(command), {}, [=](plan::PlanT &mutant) {
                      mutant.commands[command]->waits.emplace_back(command - 1, plan::WaitScope::self, 0u);
                    }});
  return list;
}

/// A mutation for each pair of neighbours in a lane.
template <typename Change>
std::vector<Mutation> eachNeighbours(const plan::PlanT &plan, const char *what, const Change &change) {
  std::vector<Mutation> list;
  for (size_t lane = 0; lane < plan.lanes.size(); ++lane)
    for (size_t i = 1; i < plan.lanes[lane]->commands.size(); ++i) {
      uint32_t a = plan.lanes[lane]->commands[i - 1], b = plan.lanes[lane]->commands[i];
      list.push_back({"commands " + number(a) + " and " + number(b) + " " + what,
                      {},
                      [=](plan::PlanT &mutant) { change(mutant, lane, a, b); }});
    }
  return list;
}

std::vector<Mutation> swappedInLane(const plan::PlanT &plan) {
  return eachNeighbours(plan, "swapped in their lane",
                        [](plan::PlanT &mutant, size_t lane, uint32_t a, uint32_t b) {
                          std::vector<uint32_t> &commands = mutant.lanes[lane]->commands;
                          std::iter_swap(std::ranges::find(commands, a), std::ranges::find(commands, b));
                        });
}

std::vector<Mutation> swappedInProgram(const plan::PlanT &plan) {
  return eachNeighbours(plan, "swapped in the program",
                        [](plan::PlanT &mutant, size_t, uint32_t a, uint32_t b) {
                          std::vector<uint32_t> order(mutant.commands.size());
                          std::iota(order.begin(), order.end(), 0);
                          std::swap(order[a], order[b]);
                          reorderCommands(mutant, order);
                        });
}

std::vector<Mutation> swappedActions(const plan::PlanT &plan) {
  return eachNeighbours(plan, "do each other's work",
                        [](plan::PlanT &mutant, size_t, uint32_t a, uint32_t b) {
                          std::swap(mutant.commands[a]->action, mutant.commands[b]->action);
                        });
}

/// A mutation for each command.
template <typename Change>
std::vector<Mutation> eachCommand(const plan::PlanT &plan, const char *what, const Change &change) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    list.push_back({"command " + number(command) + " " + what, {}, [=](plan::PlanT &mutant) {
                      change(mutant, command);
                    }});
  return list;
}

std::vector<uint32_t> allCommands(const plan::PlanT &plan) {
  std::vector<uint32_t> order(plan.commands.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<Mutation> droppedCommands(const plan::PlanT &plan) {
  return eachCommand(plan, "dropped", [](plan::PlanT &mutant, uint32_t command) {
    std::vector<uint32_t> order = allCommands(mutant);
    order.erase(order.begin() + command);
    reorderCommands(mutant, order);
  });
}

/// Who waited for the dropped command waits for what it waited for: the order of the others stays.
std::vector<Mutation> bridgedCommands(const plan::PlanT &plan) {
  return eachCommand(plan, "dropped and bridged", [](plan::PlanT &mutant, uint32_t command) {
    for (const auto &other : mutant.commands)
      if (std::ranges::find(other->waits, command, &plan::Wait::command) != other->waits.end())
        other->waits.insert(other->waits.end(), mutant.commands[command]->waits.begin(),
                            mutant.commands[command]->waits.end());
    std::vector<uint32_t> order = allCommands(mutant);
    order.erase(order.begin() + command);
    reorderCommands(mutant, order);
  });
}

std::vector<Mutation> repeatedCommands(const plan::PlanT &plan) {
  return eachCommand(plan, "repeated", [](plan::PlanT &mutant, uint32_t command) {
    std::vector<uint32_t> order = allCommands(mutant);
    order.insert(order.begin() + command, command);
    reorderCommands(mutant, order);
  });
}

/// To a lane of its own: what the old lane ordered has no order now.
std::vector<Mutation> movedToAnotherLane(const plan::PlanT &plan) {
  return eachCommand(plan, "in a lane of its own", [](plan::PlanT &mutant, uint32_t command) {
    uint32_t &lane = mutant.commands[command]->lane;
    std::erase(mutant.lanes[lane]->commands, command);
    mutant.lanes.push_back(std::make_unique<plan::LaneT>(*mutant.lanes[lane]));
    mutant.lanes.back()->commands = {command};
    lane = uint32_t(mutant.lanes.size() - 1);
  });
}

std::vector<Mutation> changedOrigins(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (size_t i = 0; i < plan.commands[command]->origins.size(); ++i) {
      auto change = [=](int32_t by, uint32_t output) {
        return [=](plan::PlanT &mutant) {
          plan::Origin &origin = mutant.commands[command]->origins[i];
          origin = {origin.operand(), origin.command() + by, origin.output() + output, origin.communicator(),
                    origin.offset()};
        };
      };
      list.push_back(
          {"origin of " + number(command) + " a command earlier", {number(command)}, change(-1, 0)});
      list.push_back({"origin of " + number(command) + " another output", {number(command)}, change(0, 1)});
      list.push_back(
          {"origin of " + number(command) + " dropped", {number(command)}, [=](plan::PlanT &mutant) {
             std::vector<plan::Origin> &origins = mutant.commands[command]->origins;
             origins.erase(origins.begin() + int64_t(i));
           }});
    }
  return list;
}

std::vector<plan::Origin> renumber(const std::vector<plan::Origin> &origins,
                                   const std::map<uint32_t, uint32_t> &index) {
  std::vector<plan::Origin> result;
  for (const plan::Origin &origin : origins)
    if (origin.command() < 0)
      result.push_back(origin);
    else if (auto found = index.find(uint32_t(origin.command())); found != index.end())
      result.emplace_back(origin.operand(), int32_t(found->second), origin.output(), origin.communicator(),
                          origin.offset());
  std::ranges::sort(result, ascend);
  return result;
}

/// The halves of an all-reduce still name each other, where both are left.
void renumberHalf(plan::CommandT &command, const std::map<uint32_t, uint32_t> &index) {
  plan::ReducePartT *reduce = command.action.AsReducePart();
  plan::GatherPartsT *gather = command.action.AsGatherParts();
  if (uint32_t *half = reduce ? &reduce->gather : gather ? &gather->reduce : nullptr)
    if (auto found = index.find(*half); found != index.end())
      *half = found->second;
}

} // namespace

void reorderCommands(plan::PlanT &plan, const std::vector<uint32_t> &order) {
  std::map<uint32_t, uint32_t> index;
  for (uint32_t i = 0; i < order.size(); ++i)
    index.try_emplace(order[i], i);
  std::vector<std::unique_ptr<plan::CommandT>> commands;
  for (uint32_t old : order) {
    auto command = std::make_unique<plan::CommandT>(*plan.commands[old]);
    std::vector<plan::Wait> waits;
    for (const plan::Wait &wait : command->waits)
      if (auto found = index.find(wait.command()); found != index.end())
        waits.emplace_back(found->second, wait.scope(), wait.communicator());
    command->waits = std::move(waits);
    command->origins = renumber(command->origins, index);
    renumberHalf(*command, index);
    commands.push_back(std::move(command));
  }
  plan.commands = std::move(commands);
  for (const auto &slot : plan.slots)
    slot->origins = renumber(slot->origins, index);
  for (const auto &lane : plan.lanes)
    lane->commands.clear();
  for (uint32_t i = 0; i < plan.commands.size(); ++i)
    plan.lanes[plan.commands[i]->lane]->commands.push_back(i);
}

std::vector<MutationClass> orderMutations() {
  return {{"edge dropped", Promise::harmless, droppedEdges},
          {"edge narrowed to one rank", Promise::harmless, narrowedEdges},
          {"edge from the command before", Promise::harmless, edgesFromBefore},
          {"edge turned round", Promise::harmless, turnedEdges},
          {"edge added", Promise::harmless, addedEdges},
          {"commands swapped in a lane", Promise::harmless, swappedInLane},
          {"commands swapped in the program", Promise::harmless, swappedInProgram},
          {"actions swapped", Promise::harmless, swappedActions},
          {"command dropped", Promise::harmless, droppedCommands},
          {"command dropped and bridged", Promise::harmless, bridgedCommands},
          {"command repeated", Promise::harmless, repeatedCommands},
          {"command in another lane", Promise::harmless, movedToAnotherLane},
          {"origin changed", Promise::harmless, changedOrigins}};
}

} // namespace epl::runtime::test
