// What units of a table wait for by data flow, and the walk through a table that this allows.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_FLOW_H
#define EPL_RUNTIME_PLAN_SCHEDULE_FLOW_H

#include "runtime/plan/schedule/Table.h"

#include <array>

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
    return (unit.stage * numKinds + static_cast<uint8_t>(unit.kind)) * microBatches + unit.microBatch;
  }

private:
  bool has(uint32_t stage, Kind kind) const { return kinds[stage][static_cast<uint8_t>(kind)]; }

  std::vector<std::array<bool, numKinds>> kinds; // that each stage has
  size_t microBatches = 0;
};

/// Does the units of each lane in order, each when those that it needs are done, and calls `visit` with its
/// mesh and the unit. Returns how many of each lane it has done: all, unless some wait for each other.
template <typename Visit> std::vector<size_t> walk(const Table &table, const Flow &flow, const Visit &visit) {
  std::vector<size_t> counts(table.size());
  std::vector<bool> done(flow.size());
  auto isReady = [&](Unit unit) {
    for (Unit need : flow.needs(unit))
      if (!done[flow.number(need)])
        return false;
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t mesh = 0; mesh < table.size(); ++mesh)
      for (size_t &at = counts[mesh]; at < table[mesh].size() && isReady(table[mesh][at]); ++at) {
        visit(mesh, table[mesh][at]);
        done[flow.number(table[mesh][at])] = moved = true;
      }
  }
  return counts;
}

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_FLOW_H
