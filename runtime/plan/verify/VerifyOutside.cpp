// What comes from outside of the plan, and what goes there. A pull is a receive, a push is a send, whose
// other end no plan has: so there is one for each slot of these roles, and nothing that is skipped on some
// ranks or in some steps. That readers of an argument stand behind its pull, and a push behind the writers of
// its result, is a matter of memory: before its pull an argument counts as not written. What a push hands
// over has to be the result, so nothing writes that later.

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Outside.h"
#include "runtime/plan/verify/VerifyStages.h"

namespace epl::runtime {
namespace {

class Outsides {
public:
  Outsides(const plan::PlanT &plan, Report &report)
      : plan(plan), report(report), mesh(plan), commands(plan.slots.size()), pushed(plan.slots.size()) {}

  void run() {
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      index = command;
      check(*plan.commands[command]);
    }
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
      if (plan::SlotRole role = plan.slots[slot]->role;
          (role == plan::SlotRole::pulled || role == plan::SlotRole::pushed) && commands[slot] != 1)
        report.add("slot ", slotName(plan, slot), " is ", plan::EnumNameSlotRole(role), " by ",
                   commands[slot], " commands, expected one");
  }

private:
  template <typename... Parts> void fail(const Parts &...parts) {
    report.add("command ", commandName(plan, index), parts...);
  }

  void check(const plan::CommandT &command) {
    const plan::PullT *pull = command.action.AsPull();
    const plan::PushT *push = command.action.AsPush();
    checkLane(command, plan::LaneKind::pull, pull != nullptr);
    checkLane(command, plan::LaneKind::push, push != nullptr);
    if (pull)
      checkSlot(command, pull->target, plan::SlotRole::pulled);
    if (push)
      checkSlot(command, push->source, plan::SlotRole::pushed);
    else
      checkWrites(command);
  }

  /// Lanes of a kind have the commands of one action, and no others.
  void checkLane(const plan::CommandT &command, plan::LaneKind kind, bool isThat) {
    if ((plan.lanes[command.lane]->kind == kind) != isThat)
      fail(" is ", isThat ? "a " : "no ", plan::EnumNameLaneKind(kind), " and in lane ", command.lane,
           ", which is of kind ", plan::EnumNameLaneKind(plan.lanes[command.lane]->kind));
  }

  void checkSlot(const plan::CommandT &command, uint32_t buffer, plan::SlotRole role) {
    int32_t slot = plan.buffers[buffer]->slot;
    if (slot < 0 || plan.slots[size_t(slot)]->role != role)
      return fail(" names buffer ", bufferName(plan, buffer), ", expected that of a ",
                  plan::EnumNameSlotRole(role), " slot");
    ++commands[size_t(slot)];
    pushed[size_t(slot)] = role == plan::SlotRole::pushed;
    hasPushed |= pushed[size_t(slot)];
    if (!command.guards.empty())
      fail(" has a guard, expected none of what the outside waits for");
    if (command.owner)
      fail(" has an owner, expected that all ranks run it");
    if (command.unit >= 0)
      fail(" is of a unit, expected none");
  }

  /// What is pushed already stays as it is.
  void checkWrites(const plan::CommandT &command) {
    if (!hasPushed)
      return;
    for (const Access &access : accessesOf(plan, mesh, command))
      if (int32_t slot = plan.buffers[access.root]->slot; access.write && slot >= 0 && pushed[size_t(slot)])
        fail(" writes slot ", slotName(plan, uint32_t(slot)), " behind its push");
  }

  const plan::PlanT &plan;
  Report &report;
  Mesh mesh;
  std::vector<uint32_t> commands; // of each slot, how many pull or push it
  std::vector<bool> pushed;       // slots, so far
  bool hasPushed = false;         // any of them
  uint32_t index = 0;             // of the current command
};

} // namespace

void checkOutside(const plan::PlanT &plan, Report &report) { Outsides(plan, report).run(); }

} // namespace epl::runtime
