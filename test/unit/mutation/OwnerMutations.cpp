// Mutations of who does something alone, and who has something alone.

#include "test/unit/mutation/Mutations.h"

namespace epl::runtime::test {
namespace {

using plan::PlanT;

std::string numbered(uint32_t command) { return "#" + std::to_string(command); }

/// A mutation for each pair of a command and an owner that it may have.
template <typename IsWanted> std::vector<Mutation> eachOwner(const PlanT &plan, const IsWanted &isWanted) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (uint32_t communicator = 0; communicator < plan.communicators.size(); ++communicator)
      for (uint32_t member : {0u, 1u})
        if (isWanted(*plan.commands[command]))
          list.push_back({numbered(command) + " by member " + std::to_string(member) + " of c" +
                              std::to_string(communicator),
                          {},
                          [=](PlanT &mutant) {
                            mutant.commands[command]->owner =
                                std::make_unique<plan::Owner>(communicator, member);
                          }});
  return list;
}

std::vector<Mutation> ownersChanged(const PlanT &plan) {
  return eachOwner(plan, [](const plan::CommandT &command) { return command.owner != nullptr; });
}

std::vector<Mutation> ownersAdded(const PlanT &plan) {
  return eachOwner(plan, [](const plan::CommandT &command) { return command.owner == nullptr; });
}

std::vector<Mutation> ownersDropped(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    if (plan.commands[command]->owner)
      list.push_back({numbered(command) + " by all", {}, [=](PlanT &mutant) {
                        mutant.commands[command]->owner.reset();
                      }});
  return list;
}

std::vector<Mutation> ownersWild(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (auto [communicator, member] : {std::pair(0u, UINT32_MAX), std::pair(UINT32_MAX, 0u)})
      list.push_back({numbered(command) + " by nobody",
                      {numbered(command), "devices"},
                      [=, communicator = communicator, member = member](PlanT &mutant) {
                        mutant.commands[command]->owner = std::make_unique<plan::Owner>(communicator, member);
                      }});
  return list;
}

/// A state, with the result that updates it, on other ranks.
std::vector<Mutation> slotsMoved(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t result = 0; result < plan.slots.size(); ++result) {
    int32_t state = plan.slots[result]->updates;
    if (state < 0 || plan.communicators.empty())
      continue;
    for (int member : {-1, 0, 1})
      list.push_back(
          {"s" + std::to_string(state) + (member < 0 ? " on all" : " on member " + std::to_string(member)),
           {},
           [=](PlanT &mutant) {
             for (uint32_t slot : {uint32_t(state), result}) {
               auto &owner = mutant.slots[slot]->owner;
               if (member < 0)
                 owner.reset();
               else
                 owner = std::make_unique<plan::Owner>(0, uint32_t(member));
             }
           }});
  }
  return list;
}

/// What `change` does to each collective with a root.
template <typename Change>
void addRoots(std::vector<Mutation> &list, const PlanT &plan, const std::string &what, const Change &change) {
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    const plan::ActionUnion &action = plan.commands[command]->action;
    if (action.AsReduceToRoot() || action.AsCopyFromRoot())
      list.push_back({numbered(command) + " " + what, {}, [=](PlanT &mutant) {
                        plan::ActionUnion &changed = mutant.commands[command]->action;
                        if (plan::ReduceToRootT *reduce = changed.AsReduceToRoot())
                          change(*reduce);
                        else
                          change(*changed.AsCopyFromRoot());
                      }});
  }
}

std::vector<Mutation> rootsChanged(const PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t by : {1u, 2u, 100u})
    addRoots(list, plan, "with root + " + std::to_string(by), [=](auto &action) { action.root += by; });
  addRoots(list, plan, "over another communicator", [](auto &action) { action.communicator ^= 1; });
  return list;
}

std::vector<Mutation> tensorsOfRootsChanged(const PlanT &plan) {
  std::vector<Mutation> list;
  addRoots(list, plan, "without its last tensor", [](auto &action) { action.tensors.pop_back(); });
  addRoots(list, plan, "with its first tensor twice",
           [](auto &action) { action.tensors.push_back(action.tensors.front()); });
  for (int64_t by : {-64, -1, 1, 64})
    addRoots(list, plan, "over " + std::to_string(by) + " more elements",
             [=](auto &action) { action.tensors.back().count += by; });
  addRoots(list, plan, "of another width",
           [](auto &action) { action.tensors.front().type = plan::ElementType::f64; });
  return list;
}

} // namespace

std::vector<MutationClass> ownerMutations() {
  return {{"owner changed", Promise::harmless, ownersChanged},
          {"owner added", Promise::harmless, ownersAdded},
          {"owner dropped", Promise::harmless, ownersDropped},
          {"owner nobody", Promise::harmless, ownersWild},
          {"slot moved to other ranks", Promise::harmless, slotsMoved},
          {"root changed", Promise::harmless, rootsChanged},
          {"tensors of a root changed", Promise::harmless, tensorsOfRootsChanged}};
}

} // namespace epl::runtime::test
