#include "runtime/plan/model/SharedStates.h"

#include "runtime/plan/model/Access.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>

namespace epl::runtime {
namespace {

/// What the commands of a plan do with the memory of one slot.
class Finder {
public:
  Finder(const plan::PlanT &plan, uint32_t slot) : plan(plan), state{slot, {}, 0, {}, {}} {}

  /// A command that touches it, in program order.
  void add(uint32_t command, const Access &access) {
    if (const plan::CopyFromRootT *copy = plan.commands[command]->action.AsCopyFromRoot())
      addCopy(command, *copy, access);
    else if (access.write)
      addWrite(command, access);
    else
      addRead(command, access);
  }

  std::optional<SharedState> finish(const Mesh &mesh) {
    if (!copy && state.writes.empty())
      return std::move(state);
    if (!isShared || !copy || state.writes.empty() || !isSkippedWithCopy() ||
        mesh.memberCount(state.communicator) != mesh.devices())
      return std::nullopt;
    return std::move(state);
  }

private:
  /// The owner, as the first command that has one says.
  bool isOwner(uint32_t communicator, uint32_t member) {
    if (!root) {
      state.communicator = communicator;
      root = member;
    }
    return communicator == state.communicator && member == *root;
  }

  bool isOnOwner(const Access &access) {
    return !access.remote && std::ranges::any_of(access.ranks, [&](const RankTest &test) {
      return test.isMember && isOwner(test.communicator, test.member);
    });
  }

  /// It is to bring the others all of the state, once.
  void addCopy(uint32_t command, const plan::CopyFromRootT &action, const Access &access) {
    bool isWhole = access.offset == 0 && access.ranges.size() == 1 &&
                   access.ranges.front() == ByteRange{0, plan.buffers[access.root]->size};
    isShared &= isWhole && copy.value_or(command) == command && isOwner(action.communicator, action.root);
    copy = command;
  }

  void addWrite(uint32_t command, const Access &access) {
    isShared &= isOnOwner(access) && !copy;
    state.writes.push_back(command);
  }

  /// What the owner reads of its own is in order in every plan.
  void addRead(uint32_t command, const Access &access) {
    if (isRead(command) || isOnOwner(access))
      return;
    isShared &= state.writes.empty() || copy;
    (state.writes.empty() ? state.earlierReads : state.laterReads).push_back(command);
  }

  bool isRead(uint32_t command) const {
    const std::vector<uint32_t> &reads = state.writes.empty() ? state.earlierReads : state.laterReads;
    return !reads.empty() && reads.back() == command;
  }

  /// Whether the owner writes only where the others copy it.
  bool isSkippedWithCopy() const {
    const plan::CommandT &copying = *plan.commands[*copy];
    return copying.guards.empty() || std::ranges::all_of(state.writes, [&](uint32_t write) {
             return haveEqualGuards(*plan.commands[write], copying);
           });
  }

  const plan::PlanT &plan;
  SharedState state;
  std::optional<uint32_t> root, copy; // the owner; the command that copies from it
  bool isShared = true;
};

/// Whether a state is held whole by every rank, and updated.
std::vector<bool> updatedEverywhere(const plan::PlanT &plan) {
  std::vector<bool> updated(plan.slots.size());
  for (const auto &slot : plan.slots)
    if (slot->updates >= 0)
      updated[size_t(slot->updates)] = true;
  for (size_t slot = 0; slot < plan.slots.size(); ++slot)
    if (plan.slots[slot]->owner ||
        !std::ranges::all_of(plan.slots[slot]->sharding, [](const auto &dim) { return dim->axes.empty(); }))
      updated[slot] = false;
  return updated;
}

} // namespace

std::vector<SharedState> sharedStatesOf(const plan::PlanT &plan) {
  Mesh mesh(plan);
  std::map<int32_t, Finder> finders; // by slot
  std::vector<bool> updated = updatedEverywhere(plan);
  for (uint32_t slot = 0; slot < updated.size(); ++slot)
    if (updated[slot])
      finders.try_emplace(int32_t(slot), plan, slot);
  for (uint32_t command = 0; command < plan.commands.size() && !finders.empty(); ++command)
    for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
      if (auto found = finders.find(plan.buffers[access.root]->slot); found != finders.end())
        found->second.add(command, access);
  std::vector<SharedState> states;
  for (auto &[slot, finder] : finders)
    if (std::optional<SharedState> state = finder.finish(mesh))
      states.push_back(*std::move(state));
  return states;
}

bool isOrdered(const SharedState &state, const Order &order) {
  assert(!state.writes.empty() && "what is never written is in any order");
  Scope all = order.scopeOf(state.communicator);
  return std::ranges::all_of(state.writes, [&](uint32_t write) {
    return std::ranges::all_of(state.earlierReads,
                               [&](uint32_t read) { return order.before(read, write, all); }) &&
           std::ranges::all_of(state.laterReads,
                               [&](uint32_t read) { return order.before(write, read, all); });
  });
}

} // namespace epl::runtime
