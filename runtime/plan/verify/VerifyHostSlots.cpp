// Slots in memory of the host. A GPU copies from there and to there by itself; its kernels, and libraries,
// work on memory of cards. So whatever else touches such a slot is an error, and so is a copy that another
// lane has to wait for without need.

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/verify/VerifyStages.h"

namespace epl::runtime {
namespace {

class HostSlots {
public:
  HostSlots(const plan::PlanT &plan, Report &report) : plan(plan), mesh(plan), report(report) {}

  void run() {
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
      checkSlot(slot);
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      checkCommand(command);
  }

private:
  void checkSlot(uint32_t index) {
    const plan::SlotT &slot = *plan.slots[index];
    if (slot.in_host && slot.role != plan::SlotRole::state && slot.role != plan::SlotRole::result)
      report.add("slot ", slotName(plan, index),
                 " is in memory of the host, expected this of states and of results");
    if (slot.updates < 0 || slot.in_host == plan.slots[size_t(slot.updates)]->in_host)
      return;
    report.add("slot ", slotName(plan, index), " is in memory of ", slot.in_host ? "the host" : "devices",
               ", expected that of slot ", slotName(plan, uint32_t(slot.updates)), ", which it updates");
  }

  void checkCommand(uint32_t index) {
    const plan::CommandT &command = *plan.commands[index];
    if (const plan::CopyT *copy = command.action.AsCopy())
      checkCopy(index, *copy);
    for (const Access &access : accessesOf(plan, mesh, command))
      if (int32_t slot = hostSlotOf(plan, access.buffer);
          slot >= 0 && (access.operand >= firstGuard || !command.action.AsCopy()))
        report.add("command ", commandName(plan, index), access.write ? " writes" : " reads", " slot ",
                   slotName(plan, uint32_t(slot)),
                   " in memory of the host, expected a copy, or another buffer");
  }

  void checkCopy(uint32_t index, const plan::CopyT &copy) {
    int32_t source = hostSlotOf(plan, copy.source), target = hostSlotOf(plan, copy.target);
    auto fail = [&](const auto &...parts) { report.add("command ", commandName(plan, index), parts...); };
    if (source >= 0 && target >= 0)
      return fail(" copies slot ", slotName(plan, uint32_t(source)), " to slot ",
                  slotName(plan, uint32_t(target)),
                  ", both in memory of the host, expected memory of devices on one side");
    const plan::CommandT &command = *plan.commands[index];
    plan::LaneKind kind = source >= 0 ? plan::LaneKind::copy_in : plan::LaneKind::copy_out;
    if ((source >= 0 || target >= 0) && plan.lanes[command.lane]->kind != kind)
      fail(" copies slot ", slotName(plan, uint32_t(source >= 0 ? source : target)),
           " in memory of the host in lane ", command.lane, ", expected a lane of kind ",
           plan::EnumNameLaneKind(kind));
    if ((source >= 0 || target >= 0) && !command.guards.empty())
      fail(" copies slot ", slotName(plan, uint32_t(source >= 0 ? source : target)),
           " in memory of the host and has a guard, expected none: a device copies it in any case");
  }

  const plan::PlanT &plan;
  Mesh mesh;
  Report &report;
};

} // namespace

void checkHostSlots(const plan::PlanT &plan, Report &report) { HostSlots(plan, report).run(); }

} // namespace epl::runtime
