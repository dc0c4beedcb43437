// Mutations of schedules: the units of a plan, which of them its commands are of, what micro-batches are, and
// the edges that let memory be used again. Other plans have none.

#include "test/unit/mutation/Mutations.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace epl::runtime::test {
namespace {

using plan::PlanT;

/// A mutation for each command that is of a unit, with what `change` makes of its number.
template <typename Change>
std::vector<Mutation> eachMember(const PlanT &plan, const std::string &what, const Change &change) {
  std::vector<Mutation> list;
  for (size_t command = 0; command < plan.commands.size(); ++command)
    if (plan.commands[command]->unit >= 0)
      list.push_back({"#" + std::to_string(command) + " " + what, {}, [=](PlanT &mutant) {
                        int32_t &unit = mutant.commands[command]->unit;
                        unit = change(unit);
                      }});
  return list;
}

std::vector<Mutation> members(const PlanT &plan) {
  std::vector<Mutation> list = eachMember(plan, "in the next unit", [](int32_t unit) { return unit + 1; });
  for (Mutation &mutation : eachMember(plan, "in the unit before", [](int32_t unit) { return unit - 1; }))
    list.push_back(std::move(mutation));
  for (Mutation &mutation : eachMember(plan, "in no unit", [](int32_t) { return -2; }))
    list.push_back(std::move(mutation));
  return list;
}

/// A mutation for each unit, with what `change` does to the list.
template <typename Change>
std::vector<Mutation> eachUnit(const PlanT &plan, const std::string &what, const Change &change) {
  std::vector<Mutation> list;
  for (size_t unit = 0; unit < plan.units.size(); ++unit)
    list.push_back({"unit " + std::to_string(unit) + " " + what, {}, [=](PlanT &mutant) {
                      change(mutant.units, mutant.units.begin() + int64_t(unit));
                    }});
  return list;
}

std::vector<Mutation> units(const PlanT &plan) {
  using Units = std::vector<plan::Unit>;
  using At = Units::iterator;
  std::vector<Mutation> list;
  auto add = [&](const std::string &what, auto change) {
    for (Mutation &mutation : eachUnit(plan, what, change))
      list.push_back(std::move(mutation));
  };
  add("left out", [](Units &all, At at) { all.erase(at); });
  add("twice", [](Units &all, At at) { all.insert(at, *at); });
  add("last", [](Units &all, At at) { std::rotate(at, at + 1, all.end()); });
  add("of the next micro-batch",
      [](Units &, At at) { *at = plan::Unit(at->loop(), at->stage(), at->kind(), at->micro_batch() + 1); });
  add("of the next stage",
      [](Units &, At at) { *at = plan::Unit(at->loop(), at->stage() + 1, at->kind(), at->micro_batch()); });
  add("of another loop",
      [](Units &, At at) { *at = plan::Unit(at->loop() + 1, at->stage(), at->kind(), at->micro_batch()); });
  add("of the next kind", [](Units &, At at) {
    *at = plan::Unit(at->loop(), at->stage(), plan::UnitKind(int(at->kind()) + 1), at->micro_batch());
  });
  return list;
}

/// The commands of each unit, by loop, stage and kind, then by micro-batch.
using Iterations =
    std::map<std::tuple<uint32_t, uint32_t, plan::UnitKind>, std::map<uint32_t, std::vector<size_t>>>;

Iterations iterationsOf(const PlanT &plan) {
  Iterations iterations;
  for (size_t command = 0; command < plan.commands.size(); ++command)
    if (int32_t index = plan.commands[command]->unit; index >= 0) {
      const plan::Unit &unit = plan.units[size_t(index)];
      iterations[{unit.loop(), unit.stage(), unit.kind()}][unit.micro_batch()].push_back(command);
    }
  return iterations;
}

/// Each command does what the same one of the next micro-batch does, and that one what it does.
std::vector<Mutation> exchangedIterations(const PlanT &plan) {
  std::vector<Mutation> list;
  for (const auto &[stage, units] : iterationsOf(plan))
    for (const auto &[microBatch, commands] : units) {
      auto next = units.find(microBatch + 1);
      if (next == units.end() || next->second.size() != commands.size())
        continue;
      for (size_t i = 0; i < commands.size(); ++i)
        list.push_back({"#" + std::to_string(commands[i]) + " and #" + std::to_string(next->second[i]) +
                            " for each other's micro-batch",
                        {},
                        [one = commands[i], other = next->second[i]](PlanT &mutant) {
                          std::swap(mutant.commands[one]->action, mutant.commands[other]->action);
                        }});
    }
  return list;
}

/// Waits of what receives, and for what sends, within units: no data need them.
std::vector<Mutation> droppedBackEdges(const PlanT &plan) {
  std::vector<Mutation> list;
  auto isOfUnit = [&](uint32_t command) { return plan.commands[command]->unit >= 0; };
  auto has = [&](uint32_t command, plan::Action action) {
    return plan.commands[command]->action.type == action;
  };
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (const plan::Wait &wait : plan.commands[command]->waits)
      if (uint32_t earlier = wait.command();
          isOfUnit(command) && isOfUnit(earlier) &&
          (has(command, plan::Action::Receive) || has(earlier, plan::Action::Send)))
        list.push_back({"edge #" + std::to_string(earlier) + " to #" + std::to_string(command) + " dropped",
                        {},
                        [=](PlanT &mutant) {
                          std::erase_if(mutant.commands[command]->waits,
                                        [=](const plan::Wait &each) { return each.command() == earlier; });
                        }});
  return list;
}

} // namespace

std::vector<MutationClass> unitMutations() {
  return {{"unit of a command changed", Promise::harmless, members},
          {"schedule of a mesh changed", Promise::harmless, units},
          {"work of two micro-batches exchanged", Promise::harmless, exchangedIterations},
          {"edge back to earlier units dropped", Promise::harmless, droppedBackEdges}};
}

} // namespace epl::runtime::test
