#include "runtime/plan/build/Results.h"

#include "runtime/plan/build/CommandEdits.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Outside.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace epl::runtime {
namespace {

std::unique_ptr<plan::CommandT> copySlot(const plan::PlanT &plan, const plan::SlotT &slot, uint32_t source,
                                         uint32_t target) {
  std::unique_ptr<plan::CommandT> command = makeCopy(plan, "copy " + slot.name, slot, source, target);
  for (uint32_t i = 0; i < plan.lanes.size(); ++i)
    if (plan.lanes[i]->kind == plan::LaneKind::compute)
      command->lane = i;
  return command;
}

class Binder {
public:
  Binder(plan::PlanT &plan, const std::map<uint32_t, uint32_t> &slotBuffers,
         std::map<uint32_t, uint32_t> values)
      : plan(plan), slotBuffers(slotBuffers), values(std::move(values)) {}

  void run() {
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
      if (epl::runtime::isResult(*plan.slots[slot]))
        requireValue(slot);
    saveArguments();
    findLifetimes();
    for (const auto &[slot, value] : values)
      bind(slot, value);
    for (const auto &command : plan.commands)
      forEachBuffer(*command, [&](uint32_t &buffer) { buffer = place[buffer]; });
    forEachView([&](int32_t &root) { root = int32_t(place[size_t(root)]); });
    dropUnusedBuffers();
  }

private:
  uint32_t storageOf(uint32_t slot) const {
    int32_t updates = plan.slots[slot]->updates;
    return slotBuffers.at(updates >= 0 ? uint32_t(updates) : slot);
  }

  void requireValue(uint32_t slot) const {
    const plan::SlotT &result = *plan.slots[slot];
    auto value = values.find(slot);
    if (value == values.end())
      throw PlanError("result \"" + result.name + "\" has no value");
    uint64_t expected = plan.buffers[storageOf(slot)]->size, found = plan.buffers[value->second]->size;
    if (expected != found)
      throw PlanError("result \"" + result.name + "\": expected a value of " + std::to_string(expected) +
                      " bytes, found buffer \"" + plan.buffers[value->second]->name + "\" of " +
                      std::to_string(found));
  }

  /// Copies each argument that is the value of a result elsewhere, before all other commands.
  void saveArguments() {
    std::vector<std::unique_ptr<plan::CommandT>> copies;
    for (auto &[slot, value] : values) {
      if (plan.buffers[rootOf(plan, value)]->slot < 0 || value == storageOf(slot))
        continue;
      auto saved = std::make_unique<plan::BufferT>();
      saved->name = plan.slots[slot]->name;
      saved->size = plan.buffers[value]->size;
      plan.buffers.push_back(std::move(saved));
      uint32_t target = uint32_t(plan.buffers.size() - 1);
      copies.push_back(copySlot(plan, *plan.slots[slot], value, target));
      value = target;
    }
    for (const auto &command : plan.commands)
      renumber(*command, [&](uint32_t other) { return other + uint32_t(copies.size()); });
    std::ranges::move(plan.commands, std::back_inserter(copies));
    plan.commands = std::move(copies);
  }

  /// The member of a communicator that alone touches a buffer; none: several do, or all ranks.
  using Toucher = std::optional<std::pair<uint32_t, uint32_t>>;

  static Toucher toucherOf(const plan::CommandT &command, uint32_t buffer) {
    const plan::ReduceToRootT *reduce = command.action.AsReduceToRoot();
    auto isTarget = [&](const plan::ReducedTensorT &tensor) { return tensor.target == buffer; };
    auto isSource = [&](const plan::ReducedTensorT &tensor) { return tensor.source == buffer; };
    if (reduce && std::ranges::any_of(reduce->tensors, isTarget) &&
        std::ranges::none_of(reduce->tensors, isSource))
      return std::pair(reduce->communicator, reduce->root);
    return command.owner ? Toucher(std::pair(command.owner->communicator(), command.owner->member()))
                         : std::nullopt;
  }

  void addToucher(const plan::CommandT &command, uint32_t buffer) {
    Toucher toucher = toucherOf(command, buffer);
    touchers[buffer] = last[buffer] < 0 || touchers[buffer] == toucher ? toucher : std::nullopt;
  }

  /// Whether all that touches `value` is done where there is storage of the slot.
  bool isWithinOwner(const plan::SlotT &slot, uint32_t value) const {
    return !slot.owner || touchers[value] == std::pair(slot.owner->communicator(), slot.owner->member());
  }

  void findLifetimes() {
    place.resize(plan.buffers.size());
    std::iota(place.begin(), place.end(), 0);
    first.assign(plan.buffers.size(), plan.commands.size());
    last.assign(plan.buffers.size(), -1);
    isResult.assign(plan.buffers.size(), false);
    touchers.assign(plan.buffers.size(), std::nullopt);
    for (const auto &[slot, value] : values)
      isResult[rootOf(plan, value)] = true;
    for (size_t i = 0; i < plan.commands.size(); ++i)
      forEachBuffer(*plan.commands[i], [&](uint32_t buffer) {
        for (uint32_t touched : {buffer, rootOf(plan, buffer)}) {
          first[touched] = std::min(first[touched], i);
          addToucher(*plan.commands[i], touched);
          last[touched] = int64_t(i);
        }
      });
  }

  void bind(uint32_t slot, uint32_t value) {
    uint32_t storage = storageOf(slot);
    if (value == storage)
      return;
    if (canTake(storage, value))
      take(storage, value);
    else
      plan.commands.push_back(makeCopyOf(slot, value, storage));
  }

  /// Has a value live in `storage`, and before it what its launch replaces in place by it, as far as nothing
  /// touches the storage before that: what waits there for a sum, for example, takes no memory of its own.
  /// What is a result itself is still to be read, by the copy at the end.
  void take(uint32_t storage, uint32_t value) {
    int64_t before = last[storage]; // of what the caller gave
    while (true) {
      place[value] = storage;
      std::optional<uint32_t> replaced = replacedBy(first[value], value);
      if (!replaced || *replaced == storage || place[*replaced] != *replaced || isResult[*replaced] ||
          rootOf(plan, *replaced) != *replaced || mayBeUnwritten(storage, *replaced) ||
          !isWithinOwner(*plan.slots[size_t(plan.buffers[storage]->slot)], *replaced) ||
          plan.buffers[*replaced]->slot >= 0 || last[*replaced] != int64_t(first[value]) ||
          before >= int64_t(first[*replaced]))
        return;
      value = *replaced;
    }
  }

  /// Whether `storage` would have bytes that nobody has written where `value` is read: a kernel that selects
  /// reads both branches, the one that was skipped, too. States have their old elements, the arena begins
  /// with zeros.
  bool mayBeUnwritten(uint32_t storage, uint32_t value) const {
    return epl::runtime::isResult(*plan.slots[size_t(plan.buffers[storage]->slot)]) &&
           !plan.commands[first[value]]->guards.empty();
  }

  /// The input in whose place a command, if that is a launch, may write `value`: it reads it once, element by
  /// element.
  std::optional<uint32_t> replacedBy(size_t command, uint32_t value) const {
    const plan::LaunchT *launch = plan.commands[command]->action.AsLaunch();
    if (!launch || std::ranges::count(launch->buffers, value) != 1)
      return std::nullopt;
    const plan::KernelT &kernel = *plan.kernels[launch->kernel];
    for (uint32_t output = 0; output < kernel.num_outputs; ++output)
      if (launch->buffers[kernel.num_inputs + output] == value && kernel.in_place[output] >= 0)
        if (uint32_t input = launch->buffers[size_t(kernel.in_place[output])];
            std::ranges::count(launch->buffers, input,
                               [&](uint32_t buffer) { return rootOf(plan, buffer); }) == 1)
          return input;
    return std::nullopt;
  }

  /// A copy that people find where the value is made.
  std::unique_ptr<plan::CommandT> makeCopyOf(uint32_t slot, uint32_t value, uint32_t storage) const {
    auto copy = copySlot(plan, *plan.slots[slot], value, storage);
    if (last[value] >= 0) {
      copy->location = plan.commands[first[value]]->location;
      copy->work = plan.commands[first[value]]->work;
    }
    return copy;
  }

  /// Whether `value` may live in `storage` from its first write on.
  bool canTake(uint32_t storage, uint32_t value) const {
    if (place[value] != value || last[value] < 0 || rootOf(plan, value) != value ||
        !isWithinOwner(*plan.slots[size_t(plan.buffers[storage]->slot)], value))
      return false;
    if (last[storage] < int64_t(first[value]))
      return true;
    return last[storage] == int64_t(first[value]) && replacedBy(first[value], value) == storage;
  }

  void dropUnusedBuffers() {
    std::vector<bool> used(plan.buffers.size());
    for (const auto &command : plan.commands)
      forEachBuffer(*command, [&](uint32_t buffer) { used[buffer] = used[rootOf(plan, buffer)] = true; });
    std::vector<std::unique_ptr<plan::BufferT>> kept;
    std::vector<uint32_t> index(plan.buffers.size());
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      index[i] = uint32_t(kept.size());
      if (used[i])
        kept.push_back(std::move(plan.buffers[i]));
    }
    plan.buffers = std::move(kept);
    for (const auto &command : plan.commands)
      forEachBuffer(*command, [&](uint32_t &buffer) { buffer = index[buffer]; });
    forEachView([&](int32_t &root) { root = int32_t(index[size_t(root)]); });
  }

  /// Calls `visit` with the root of each view.
  template <typename Visit> void forEachView(const Visit &visit) {
    for (const auto &buffer : plan.buffers)
      if (buffer->view_of >= 0)
        visit(buffer->view_of);
  }

  plan::PlanT &plan;
  const std::map<uint32_t, uint32_t> &slotBuffers;
  std::map<uint32_t, uint32_t> values;
  std::vector<uint32_t> place; // the buffer whose storage each buffer has
  std::vector<size_t> first;   // the first and the last command that names each buffer
  std::vector<int64_t> last;
  std::vector<bool> isResult; // what results are, or views of it
  std::vector<Toucher> touchers;
};

} // namespace

void bindResults(plan::PlanT &plan, const std::map<uint32_t, uint32_t> &slotBuffers,
                 const std::map<uint32_t, uint32_t> &values) {
  Binder(plan, slotBuffers, values).run();
}

} // namespace epl::runtime
