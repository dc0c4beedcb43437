#include "runtime/servers/store/ApplyPlans.h"

#include "runtime/Error.h"
#include "runtime/plan/verify/ReadVerified.h"
#include "runtime/session/TensorType.h"

#include <algorithm>
#include <set>

namespace epl::runtime::servers {

using manifest::ArgumentRole;

namespace {

/// What an argument of a plan must be for a block.
TensorType typeOf(const BlockTable &blocks, uint32_t block, const manifest::Argument &argument) {
  const manifest::ParameterT &parameter = blocks.parameter(block);
  auto typeIn = [&](const auto &tensor) { return TensorType{tensor.type, shapeIn(blocks[block], tensor)}; };
  switch (argument.role()) {
  case ArgumentRole::state:
    return typeIn(*parameter.states[size_t(argument.state())]);
  case ArgumentRole::gradient:
    return typeIn(*parameter.pushes[size_t(argument.state())]);
  default:
    return {parameter.type, blocks[block].shape};
  }
}

/// What an argument of a plan must be for rows of a table.
TensorType typeOf(const manifest::TableT &table, const manifest::Argument &argument) {
  if (argument.role() != ArgumentRole::state)
    return {table.type, shapeOfRows(std::vector<int64_t>{int64_t(table.dim)})};
  const manifest::SlotT &slot = *table.slots[size_t(argument.state())];
  return {slot.type, shapeOfRows(slot.shape)};
}

/// Whether a plan may, or may not, update an argument. A state may stay what it is, such as a rate of decay.
bool fits(const manifest::Argument &argument, bool isUpdated) {
  return isUpdated ? isHeld(argument) : argument.role() != ArgumentRole::parameter;
}

std::vector<int32_t> resultsOf(const plan::PlanT &plan, size_t numArguments) {
  std::vector<int32_t> results(numArguments, -1);
  for (size_t slot = numArguments; slot < plan.slots.size(); ++slot)
    if (int32_t argument = plan.slots[slot]->updates; argument >= 0)
      results[size_t(argument)] = int32_t(slot - numArguments);
  return results;
}

size_t argumentsOf(const plan::PlanT &plan) {
  return size_t(std::ranges::count_if(plan.slots,
                                      [](const auto &slot) { return slot->role != plan::SlotRole::result; }));
}

} // namespace

ApplyPlans::ApplyPlans(const manifest::ManifestT &manifest, uint32_t server)
    : manifest(manifest), blocks(manifest), own(blocks.ofServer(server)), plans(manifest.plans.size()),
      results(manifest.plans.size()) {
  std::set<uint32_t> used;
  for (uint32_t block : own)
    used.insert(blocks[block].plan);
  for (const auto &table : manifest.tables)
    used.insert(table->plan);
  ids.assign(used.begin(), used.end());
}

void ApplyPlans::set(uint32_t plan, std::span<const uint8_t> bytes) {
  if (!std::ranges::binary_search(ids, plan))
    throw Error("apply plan " + std::to_string(plan) + " is of no block of this server");
  std::string name = "apply plan " + std::to_string(plan);
  const manifest::ApplyPlanT &said = *manifest.plans[plan];
  Hash128 expected{said.hash_low, said.hash_high}, found = hashBytes(bytes);
  if (found != expected)
    throw Error(name + " has the hash " + found.text() + ", expected " + expected.text() +
                ", as the manifest says");
  auto read = std::make_shared<const plan::PlanT>(parsePlan(bytes, name));
  check(plan, *read);
  results[plan] = resultsOf(*read, said.arguments.size());
  plans[plan] = std::move(read);
}

bool ApplyPlans::isComplete() const {
  return std::ranges::all_of(ids, [&](uint32_t id) { return plans[id] != nullptr; });
}

void ApplyPlans::check(uint32_t plan, const plan::PlanT &read) const {
  std::string name = "apply plan " + std::to_string(plan);
  const manifest::ApplyPlanT &said = *manifest.plans[plan];
  if (read.devices != 1 || read.device_kind != "cpu")
    throw Error(name + " is for " + std::to_string(read.devices) + " devices of kind \"" + read.device_kind +
                "\", expected 1 of kind \"cpu\"");
  if (argumentsOf(read) != said.arguments.size())
    throw Error(name + " has " + std::to_string(argumentsOf(read)) + " arguments, expected " +
                std::to_string(said.arguments.size()) + ", as the manifest says");
  std::vector<int32_t> updates = resultsOf(read, said.arguments.size());
  for (size_t i = 0; i < said.arguments.size(); ++i)
    if (!fits(said.arguments[i], updates[i] >= 0))
      throw Error(name + (updates[i] >= 0 ? " updates" : " does not update") + " its argument \"" +
                  read.slots[i]->name + "\", which is the " +
                  manifest::EnumNameArgumentRole(said.arguments[i].role()));
  for (uint32_t block : own)
    if (blocks[block].plan == plan)
      checkUse(plan, read, blocks.text(block),
               [&](const manifest::Argument &argument) { return typeOf(blocks, block, argument); });
  for (const auto &table : manifest.tables)
    if (table->plan == plan)
      checkUse(plan, read, "table \"" + table->name + "\"",
               [&](const manifest::Argument &argument) { return typeOf(*table, argument); });
}

/// `expected`: the type that an argument must have for who uses the plan.
template <typename Expected>
void ApplyPlans::checkUse(uint32_t plan, const plan::PlanT &read, const std::string &user,
                          const Expected &expected) const {
  const std::vector<manifest::Argument> &arguments = manifest.plans[plan]->arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (TensorType found = TensorType::of(*read.slots[i]), wanted = expected(arguments[i]); found != wanted)
      throw Error("apply plan " + std::to_string(plan) + " takes " + found.str() + " for its argument \"" +
                  read.slots[i]->name + "\", expected " + wanted.str() + " of " + user);
}

} // namespace epl::runtime::servers
