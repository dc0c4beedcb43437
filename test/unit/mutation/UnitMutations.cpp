// Mutations of schedules: the units of a plan, and which of them its commands are of. Other plans have none.

#include "test/unit/mutation/Mutations.h"

#include <algorithm>

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

} // namespace

std::vector<MutationClass> unitMutations() {
  return {{"unit of a command changed", Promise::harmless, members},
          {"schedule of a mesh changed", Promise::harmless, units}};
}

} // namespace epl::runtime::test
