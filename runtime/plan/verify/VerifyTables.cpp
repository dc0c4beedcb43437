// The first stage of the plan verifier: what the plan's tables say, one entry after another. Nothing of an
// entry is used before it is checked, and no product before it is known to fit.

#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Order.h"
#include "runtime/plan/model/Outside.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>
#include <optional>
#include <set>

namespace epl::runtime {
namespace {

/// Bytes of one tensor: far more than any memory, far less than what overflows.
constexpr uint64_t maxBytes = uint64_t(1) << 48;

template <typename EnumT> bool inRange(EnumT value, EnumT first, EnumT last) {
  return first <= value && value <= last;
}

class Tables {
public:
  Tables(const plan::PlanT &plan, Report &report) : plan(plan), report(report) {}

  void run() {
    if (plan.version != planVersion)
      report.add("version is ", plan.version, ", expected ", planVersion);
    if (plan.nodes == 0 || plan.devices % plan.nodes != 0)
      report.add("plan has ", plan.devices, " devices on ", plan.nodes, " nodes, expected as many on each");
    checkAxes();
    if (report.failed())
      return; // products of axes may not fit
    if (plan.communicators.size() > maxCommunicators)
      return report.add("plan has ", plan.communicators.size(), " communicators, expected at most ",
                        maxCommunicators);
    for (uint32_t i = 0; i < plan.communicators.size(); ++i)
      checkCommunicator(i);
    if (communicated.size() > maxCommunicatedAxes)
      report.add("communicators use ", communicated.size(), " axes, expected at most ", maxCommunicatedAxes);
    for (uint32_t i = 0; i < plan.slots.size(); ++i)
      checkSlot(i);
    if (report.failed())
      return;
    for (uint32_t i = 0; i < plan.slots.size(); ++i)
      checkOwner(i);
    if (report.failed())
      return;
    checkUpdates();
    for (uint32_t i = 0; i < plan.buffers.size(); ++i)
      checkBuffer(i);
    checkCode(plan, report);
    checkLanes();
  }

private:
  const plan::AxisT *findAxis(const std::string &name) const {
    for (const auto &axis : plan.axes)
      if (axis->name == name)
        return axis.get();
    return nullptr;
  }

  void checkAxes() {
    std::set<std::string> names;
    uint64_t devices = 1;
    for (const auto &axis : plan.axes) {
      if (axis->name.empty() || !names.insert(axis->name).second)
        report.add("axis ", quoted(axis->name), " is named twice or not at all");
      if (axis->size == 0)
        report.add("axis ", quoted(axis->name), " has size 0");
      if (devices <= maxDevices)
        devices *= axis->size;
    }
    if (devices > maxDevices)
      report.add("axes make more than ", maxDevices, " devices");
    else if (plan.parts.empty() && plan.devices != devices)
      report.add("devices is ", plan.devices, ", expected the product of the axes, ", devices);
    else
      checkPartDevices();
    if (plan.device_kind.empty())
      report.add("device kind is empty");
  }

  void checkPartDevices() {
    uint64_t devices = 0;
    for (const auto &part : plan.parts)
      devices += part->plan->devices;
    if (!plan.parts.empty() && (plan.devices != devices || devices > maxDevices))
      report.add("devices is ", plan.devices, ", expected those of all parts, ", devices, ", at most ",
                 maxDevices);
  }

  /// Whether `name` is an axis that `used` does not hold yet; reports for `user` if not.
  const plan::AxisT *useAxis(const std::string &user, const std::string &name, std::set<std::string> &used) {
    const plan::AxisT *axis = findAxis(name);
    if (!axis)
      report.add(user, " names axis ", quoted(name), ", which is not in the mesh");
    else if (!used.insert(name).second)
      report.add(user, " names axis ", quoted(name), " twice");
    else
      return axis;
    return nullptr;
  }

  void checkCommunicator(uint32_t index) {
    std::set<std::string> used;
    std::string user = "communicator c" + std::to_string(index);
    if (plan.communicators[index]->axes.empty())
      report.add(user, " has no axis");
    for (const std::string &name : plan.communicators[index]->axes)
      if (const plan::AxisT *axis = useAxis(user, name, used); axis && axis->size > 1)
        communicated.insert(name);
  }

  void checkSlot(uint32_t index) {
    const plan::SlotT &slot = *plan.slots[index];
    std::string user = "slot " + slotName(plan, index);
    if (!inRange(slot.role, plan::SlotRole::MIN, plan::SlotRole::MAX))
      report.add(user, " has role ", int(slot.role), ", which does not exist");
    if (isResult(slot))
      results = true;
    else if (results)
      report.add(user, " is an argument behind a result");
    if (slot.role == plan::SlotRole::pushed)
      pushes = true;
    else if (pushes)
      report.add(user, " is behind a pushed result, expected these behind all other slots");
    if (!inRange(slot.type, plan::ElementType::MIN, plan::ElementType::MAX))
      report.add(user, " has element type ", int(slot.type), ", which does not exist");
    else if (slot.sharding.size() != slot.shape.size())
      report.add(user, " has ", slot.shape.size(), " dimensions and a sharding for ", slot.sharding.size());
    else
      checkShape(user, slot);
  }

  void checkShape(const std::string &user, const plan::SlotT &slot) {
    uint64_t bytes = elementBytes(slot.type);
    std::set<std::string> used;
    for (size_t dim = 0; dim < slot.shape.size(); ++dim) {
      int64_t extent = slot.shape[dim], parts = 1;
      for (const std::string &name : slot.sharding[dim]->axes)
        if (const plan::AxisT *axis = useAxis(user, name, used))
          parts *= std::max(axis->size, uint32_t(1));
      if (extent < 0)
        report.add(user, " has size ", extent, " in dimension ", dim);
      else if (extent % parts != 0)
        report.add(user, " has size ", extent, " in dimension ", dim, ", which ", parts,
                   " devices do not divide");
      if (__builtin_mul_overflow(bytes, uint64_t(extent), &bytes) || bytes > maxBytes)
        return report.add(user, " has more than ", maxBytes, " bytes");
    }
    checkCallerShape(user, slot, bytes);
    checkCallerRows(user, slot);
  }

  /// An owner is of a state, or of what updates one, on axes that split nothing of it.
  void checkOwner(uint32_t index) {
    const plan::SlotT &slot = *plan.slots[index];
    if (!slot.owner)
      return;
    std::string user = "slot " + slotName(plan, index);
    if (slot.role != plan::SlotRole::state && slot.updates < 0)
      report.add(user, " has an owner, expected this of states and of results that update them");
    if (std::string fault = faultOf(plan, *slot.owner); !fault.empty())
      return report.add(user, fault);
    for (const std::string &name : plan.communicators[slot.owner->communicator()]->axes)
      for (const auto &dim : slot.sharding)
        if (std::ranges::find(dim->axes, name) != dim->axes.end())
          report.add(user, " has an owner on axis ", quoted(name), ", which splits it");
  }

  void checkCallerRows(const std::string &user, const plan::SlotT &slot) {
    if (!slot.caller_rows)
      return;
    int64_t first = slot.caller_rows->first(), count = slot.caller_rows->count();
    if (slot.shape.empty() || slot.role == plan::SlotRole::batch)
      report.add(user, " has rows of the caller's tensor, expected all of a ",
                 slot.shape.empty() ? "tensor without dimensions" : "batch");
    else if (first < 0 || count < 0 || ownRows(slot) > count || first > count - ownRows(slot))
      report.add(user, " has the ", ownRows(slot), " rows from ", first, " on of ", count, " of the caller");
  }

  /// `bytes`: what the slot's shape takes.
  void checkCallerShape(const std::string &user, const plan::SlotT &slot, uint64_t bytes) {
    if (slot.caller_shape.empty() && !slot.caller_parts.empty())
      return report.add(user, " has parts, but no shape that the caller sees");
    if (slot.caller_shape.empty())
      return;
    checkCallerParts(user, slot);
    uint64_t seen = elementBytes(slot.type);
    for (int64_t extent : slot.caller_shape)
      if (extent < 0 || __builtin_mul_overflow(seen, uint64_t(extent), &seen))
        return report.add(user, " has size ", extent, " in the shape that the caller sees");
    if (seen != bytes)
      report.add(user, " has ", bytes, " bytes, and ", seen, " in the shape that the caller sees");
  }

  void checkCallerParts(const std::string &user, const plan::SlotT &slot) {
    size_t next = 0;
    for (const auto &parts : slot.caller_parts) {
      if (parts->dim < next || size_t(parts->dim) + 1 >= slot.shape.size())
        return report.add(user, " has parts of dimension ", parts->dim, ", expected one from ", next, " to ",
                          int64_t(slot.shape.size()) - 2);
      next = size_t(parts->dim) + 2;
      int64_t count = slot.shape[parts->dim], sum = 0, expected = 0;
      for (int64_t extent : parts->extents)
        if (extent <= 0 || count <= 0 || extent % count != 0 || __builtin_add_overflow(sum, extent, &sum))
          return report.add(user, " has a part of size ", extent, " of dimension ", parts->dim,
                            ", expected a multiple of ", count);
      if (__builtin_mul_overflow(count, slot.shape[parts->dim + 1], &expected) || sum != expected)
        return report.add(user, " has parts of size ", sum, " of dimension ", parts->dim, ", expected ",
                          count, " x ", slot.shape[parts->dim + 1]);
    }
  }

  void checkUpdates() {
    std::set<int32_t> updated;
    for (uint32_t index = 0; index < plan.slots.size(); ++index) {
      const plan::SlotT &slot = *plan.slots[index];
      if (slot.updates == -1)
        continue;
      std::string user = "slot " + slotName(plan, index);
      if (slot.role != plan::SlotRole::result)
        report.add(user, " updates a slot but is no result");
      else if (slot.updates < 0 || size_t(slot.updates) >= plan.slots.size() ||
               plan.slots[size_t(slot.updates)]->role != plan::SlotRole::state)
        report.add(user, " updates slot ", slot.updates, ", which is no state");
      else if (!updated.insert(slot.updates).second)
        report.add(user, " updates slot ", slotName(plan, uint32_t(slot.updates)),
                   ", as another result does");
      else if (!sameTensor(slot, *plan.slots[size_t(slot.updates)]))
        report.add(user, " updates slot ", slotName(plan, uint32_t(slot.updates)),
                   " of another type, shape, sharding or owner");
    }
  }

  static bool haveSameRows(const plan::SlotT &a, const plan::SlotT &b) {
    if (!a.caller_rows || !b.caller_rows)
      return !a.caller_rows && !b.caller_rows;
    return a.caller_rows->first() == b.caller_rows->first() &&
           a.caller_rows->count() == b.caller_rows->count();
  }

  static bool haveSameOwner(const plan::SlotT &a, const plan::SlotT &b) {
    if (!a.owner || !b.owner)
      return !a.owner && !b.owner;
    return a.owner->communicator() == b.owner->communicator() && a.owner->member() == b.owner->member();
  }

  static bool sameTensor(const plan::SlotT &a, const plan::SlotT &b) {
    if (a.type != b.type || a.shape != b.shape || a.caller_shape != b.caller_shape || !haveSameRows(a, b) ||
        !haveSameOwner(a, b))
      return false;
    auto isEqual = [](const auto &left, const auto &right) {
      return left->dim == right->dim && left->extents == right->extents;
    };
    if (!std::ranges::equal(a.caller_parts, b.caller_parts, isEqual))
      return false;
    for (size_t dim = 0; dim < a.shape.size(); ++dim)
      if (a.sharding[dim]->axes != b.sharding[dim]->axes)
        return false;
    return true;
  }

  void checkBuffer(uint32_t index) {
    const plan::BufferT &buffer = *plan.buffers[index];
    auto fail = [&](const auto &...parts) { report.add("buffer ", bufferName(plan, index), parts...); };
    if (buffer.size > maxBytes)
      fail(" has more than ", maxBytes, " bytes");
    if (buffer.view_of != -1)
      return checkView(buffer, fail);
    if (buffer.slot == -1)
      return;
    if (buffer.slot < 0 || size_t(buffer.slot) >= plan.slots.size())
      return fail(" names slot ", buffer.slot, " of ", plan.slots.size());
    uint32_t slot = uint32_t(buffer.slot);
    if (plan.slots[slot]->updates != -1)
      fail(" names slot ", slotName(plan, slot), ", which is storage of the slot that it updates");
    if (!buffered.insert(slot).second)
      fail(" names slot ", slotName(plan, slot), ", as another buffer does");
    if (uint64_t bytes = localBytes(plan, *plan.slots[slot]); buffer.size != bytes)
      fail(" has ", buffer.size, " bytes, expected ", bytes, " as slot ", slotName(plan, slot),
           " has on each rank");
  }

  /// A view is a part of its buffer that has as many bytes as each part before it.
  template <typename Fail> void checkView(const plan::BufferT &view, const Fail &fail) {
    if (view.slot != -1)
      fail(" is a view, and names slot ", view.slot);
    if (view.view_of < 0 || size_t(view.view_of) >= plan.buffers.size())
      return fail(" is a view of buffer ", view.view_of, " of ", plan.buffers.size());
    uint32_t root = uint32_t(view.view_of);
    const plan::BufferT &whole = *plan.buffers[root];
    if (whole.view_of != -1)
      fail(" is a view of buffer ", bufferName(plan, root), ", which is one, too");
    if (view.offset > whole.size || view.size > whole.size - view.offset)
      fail(" is ", view.size, " bytes at ", view.offset, " of buffer ", bufferName(plan, root),
           ", which has ", whole.size);
    if (view.size == 0 ? view.offset != 0 : view.offset % view.size != 0)
      fail(" begins at ", view.offset, " of buffer ", bufferName(plan, root), ", expected a multiple of its ",
           view.size, " bytes");
  }

  /// Lanes hold every command once, in program order: then no cycle of lane order and waits can be.
  void checkLanes() {
    std::vector<uint32_t> times(plan.commands.size());
    if (plan.lanes.size() > maxLanes)
      return report.add("plan has ", plan.lanes.size(), " lanes, expected at most ", maxLanes);
    size_t perCommand = plan.lanes.size() << communicated.size();
    if (plan.commands.size() * perCommand > maxClockEntries)
      return report.add("plan has ", plan.commands.size(), " commands, expected at most ",
                        maxClockEntries / perCommand, " with ", plan.lanes.size(),
                        " lanes and communicators over ", communicated.size(), " axes");
    for (uint32_t index = 0; index < plan.lanes.size(); ++index) {
      const plan::LaneT &lane = *plan.lanes[index];
      if (!inRange(lane.kind, plan::LaneKind::MIN, plan::LaneKind::MAX))
        report.add("lane ", index, " has kind ", int(lane.kind), ", which does not exist");
      bool communicates = lane.kind == plan::LaneKind::communicate;
      if (communicates ? lane.communicator < 0 || size_t(lane.communicator) >= plan.communicators.size()
                       : lane.communicator != -1)
        report.add("lane ", index, " names communicator ", lane.communicator, ", expected ",
                   communicates ? "one of the plan's" : "-1");
      for (size_t i = 0; i < lane.commands.size(); ++i)
        checkPlace(index, i, times);
    }
    for (uint32_t command = 0; command < times.size(); ++command)
      if (times[command] != 1)
        report.add("command ", commandName(plan, command), " is listed ", times[command],
                   " times in lanes, expected once");
  }

  void checkPlace(uint32_t lane, size_t position, std::vector<uint32_t> &times) {
    const std::vector<uint32_t> &commands = plan.lanes[lane]->commands;
    uint32_t command = commands[position];
    if (command >= plan.commands.size())
      return report.add("lane ", lane, " lists command ", command, " of ", plan.commands.size());
    ++times[command];
    if (plan.commands[command]->lane != lane)
      report.add("command ", commandName(plan, command), " is listed in lane ", lane, ", expected lane ",
                 plan.commands[command]->lane);
    if (position > 0 && commands[position - 1] >= command)
      report.add("lane ", lane, " runs command ", commandName(plan, command), " behind command ",
                 commands[position - 1], ": expected program order");
  }

  const plan::PlanT &plan;
  Report &report;
  std::set<std::string> communicated; // axes of size two and more
  std::set<uint32_t> buffered;        // slots that have a buffer
  bool results = false;               // a result slot has been seen
  bool pushes = false;                // one that is pushed
};

} // namespace

void checkTables(const plan::PlanT &plan, Report &report) { Tables(plan, report).run(); }

} // namespace epl::runtime
