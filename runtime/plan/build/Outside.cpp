#include "runtime/plan/build/Outside.h"

#include "runtime/plan/build/CommandEdits.h"
#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Outside.h"

#include <algorithm>

namespace epl::runtime {
namespace {

class Adder {
public:
  explicit Adder(plan::PlanT &plan) : plan(plan), count(plan.commands.size()) {}

  void run() {
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
      if (plan.slots[slot]->role == plan::SlotRole::pulled)
        pulls.push_back({slot, bufferOf(slot), count});
      else if (plan.slots[slot]->role == plan::SlotRole::pushed)
        pushes.push_back({slot, bufferOf(slot), count});
    findNeighbours();
    auto place = [](const Transfer &each) { return std::pair(each.neighbour, each.slot); };
    std::ranges::sort(pulls, {}, place);
    std::ranges::sort(pushes, {}, place);
    rebuild();
  }

private:
  /// A pull with its first reader, or a push with the last command that writes what it reads; `count` if
  /// there is none.
  struct Transfer {
    uint32_t slot, buffer;
    size_t neighbour;
    std::string location{}, work{};
  };

  /// That of a slot, which has none yet if nothing touches it.
  uint32_t bufferOf(uint32_t slot) {
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (plan.buffers[buffer]->slot == int32_t(slot))
        return buffer;
    auto made = std::make_unique<plan::BufferT>();
    made->name = plan.slots[slot]->name;
    made->slot = int32_t(slot);
    made->size = localBytes(plan, *plan.slots[slot]);
    plan.buffers.push_back(std::move(made));
    return uint32_t(plan.buffers.size() - 1);
  }

  void findNeighbours() {
    std::vector<Transfer *> transferOf(plan.buffers.size());
    for (std::vector<Transfer> *own : {&pulls, &pushes})
      for (Transfer &transfer : *own)
        transferOf[transfer.buffer] = &transfer;
    Mesh mesh(plan);
    for (size_t command = 0; command < count; ++command)
      for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
        if (Transfer *transfer = transferOf[access.root])
          meet(*transfer, access, command);
  }

  /// People find a pull or a push where its neighbour is.
  void meet(Transfer &transfer, const Access &access, size_t command) {
    bool isPush = plan.slots[transfer.slot]->role == plan::SlotRole::pushed;
    if (isPush != access.write || (!isPush && transfer.neighbour != count))
      return;
    transfer.neighbour = command;
    transfer.location = plan.commands[command]->location;
    transfer.work = plan.commands[command]->work;
  }

  uint32_t addLane(plan::LaneKind kind) {
    auto lane = std::make_unique<plan::LaneT>();
    lane->kind = kind;
    plan.lanes.push_back(std::move(lane));
    return uint32_t(plan.lanes.size() - 1);
  }

  template <typename ActionT>
  void add(const Transfer &transfer, std::string name, uint32_t lane, ActionT action) {
    auto command = std::make_unique<plan::CommandT>();
    command->name = std::move(name);
    command->location = transfer.location;
    command->work = transfer.work;
    command->lane = lane;
    command->action.Set(action);
    commands.push_back(std::move(command));
  }

  void addPulls() {
    if (pulls.empty())
      return;
    uint32_t lane = addLane(plan::LaneKind::pull);
    for (const Transfer &pull : pulls) {
      plan::PullT action;
      action.target = pull.buffer;
      add(pull, "pulled " + plan.slots[pull.slot]->name, lane, action);
    }
  }

  void addPush(const Transfer &push, uint32_t lane) {
    plan::PushT action;
    action.source = push.buffer;
    add(push, plan.slots[push.slot]->name, lane, action);
  }

  void rebuild() {
    addPulls();
    uint32_t lane = pushes.empty() ? 0 : addLane(plan::LaneKind::push);
    auto next = pushes.begin();
    for (size_t command = 0; command < count; ++command) {
      indices.push_back(uint32_t(commands.size()));
      commands.push_back(std::move(plan.commands[command]));
      for (; next != pushes.end() && next->neighbour == command; ++next)
        addPush(*next, lane);
    }
    for (; next != pushes.end(); ++next)
      addPush(*next, lane);
    for (uint32_t index : indices)
      renumber(*commands[index], [&](uint32_t other) { return indices[other]; });
    plan.commands = std::move(commands);
  }

  plan::PlanT &plan;
  const size_t count; // of commands before
  std::vector<Transfer> pulls, pushes;
  std::vector<std::unique_ptr<plan::CommandT>> commands; // the new ones
  std::vector<uint32_t> indices;                         // in these, of each command
};

} // namespace

bool addOutside(plan::PlanT &plan) {
  if (!hasOutside(plan))
    return false;
  Adder(plan).run();
  return true;
}

} // namespace epl::runtime
