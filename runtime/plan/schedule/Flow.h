// What units of a table wait for by data flow, and the walk through a table that this allows.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_FLOW_H
#define EPL_RUNTIME_PLAN_SCHEDULE_FLOW_H

#include "runtime/plan/schedule/Table.h"

#include <array>
#include <functional>

namespace epl::runtime::schedule {

/// Of tables in which each unit is there at most once. F waits for F of the stage before, B and I for F of
/// their own stage and B or I of the stage behind, W for I.
class Flow {
public:
  explicit Flow(const Table &table);

  /// The units that must have ended before `unit` begins.
  std::vector<Unit> needs(Unit unit) const;

  /// Whether it is the last that reads what F of its stage and micro-batch has kept.
  bool isLast(Unit unit) const;

  /// Units have numbers from 0 to size() - 1.
  size_t size() const { return kinds.size() * numKinds * microBatches; }
  size_t number(Unit unit) const {
    return (size_t(unit.stage) * numKinds + static_cast<uint8_t>(unit.kind)) * microBatches + unit.microBatch;
  }

private:
  bool has(uint32_t stage, Kind kind) const { return kinds[stage][static_cast<uint8_t>(kind)]; }

  std::vector<std::array<bool, numKinds>> kinds; // that each stage has
  size_t microBatches = 0;
};

/// What must have ended before a unit begins, beside the units before it in its lane.
using Needs = std::function<std::vector<Unit>(Unit)>;

/// What a program does of a table: a step without gradients does no B, whatever its schedule says.
struct Work {
  std::function<bool(Unit)> has; // whether it has anything to do for a unit; if not, this takes no time
  Needs needs;                   // of units that it has; none of the others
};

/// Does the units of each lane in order, each when those that it needs are done, and calls `visit` with its
/// mesh and the unit. Returns how many of each lane it has done: all, unless some wait for each other.
std::vector<size_t> walk(const Table &table, const Flow &flow,
                         const std::function<void(size_t, Unit)> &visit);
/// The same with other needs than those of the flow.
std::vector<size_t> walk(const Table &table, const Flow &flow, const Needs &needs,
                         const std::function<void(size_t, Unit)> &visit);

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_FLOW_H
