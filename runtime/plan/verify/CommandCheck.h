// What the checks of a command by itself have in common: how they say a fault, buffers that are there and
// have room.

#ifndef EPL_RUNTIME_PLAN_VERIFY_COMMAND_CHECK_H
#define EPL_RUNTIME_PLAN_VERIFY_COMMAND_CHECK_H

#include "runtime/plan/format/Report.h"
#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/model/Blocks.h"
#include "runtime/plan/model/Names.h"

#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime {

class CommandCheck {
protected:
  CommandCheck(const plan::PlanT &plan, uint32_t command, Report &report)
      : plan(plan), report(report), index(command) {}

  template <typename... Parts> void fail(const Parts &...parts) {
    report.add("command ", commandName(plan, index), parts...);
    good = false;
  }

  /// Commands of one rank run anywhere but in a lane of a communicator.
  void requireLocalLane(const plan::CommandT &command) {
    if (plan.lanes[command.lane]->kind == plan::LaneKind::communicate)
      fail(" is no collective but in lane ", command.lane, ", which is a communicator's");
  }

  bool requireBuffer(uint32_t buffer) {
    if (buffer >= plan.buffers.size())
      fail(" names buffer ", buffer, " of ", plan.buffers.size());
    return buffer < plan.buffers.size();
  }

  /// `elements` of `type` fit into the buffer.
  void requireRoom(uint32_t buffer, plan::ElementType type, const std::vector<int64_t> &extents) {
    if (!requireBuffer(buffer))
      return;
    if (type < plan::ElementType::MIN || type > plan::ElementType::MAX)
      return fail(" has element type ", int(type), ", which does not exist");
    uint64_t size = plan.buffers[buffer]->size, bytes = elementBytes(type);
    bool fits = true;
    for (int64_t extent : extents) {
      if (extent < 0)
        return fail(" has a count of ", extent);
      fits = !__builtin_mul_overflow(bytes, uint64_t(extent), &bytes) && fits;
    }
    if (!fits || bytes > size)
      fail(" needs ", fits ? std::to_string(bytes) : "too many", " bytes of buffer ",
           bufferName(plan, buffer), ", which has ", size);
  }

  const plan::PlanT &plan;
  Report &report;
  uint32_t index;   // of the current command
  bool good = true; // nothing is wrong with it so far
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_VERIFY_COMMAND_CHECK_H
