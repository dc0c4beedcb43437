#include "runtime/plan/schedule/Flow.h"

#include <algorithm>

namespace epl::runtime::schedule {

Flow::Flow(const Table &table) {
  for (const std::vector<Unit> &lane : table)
    for (Unit unit : lane) {
      kinds.resize(std::max(kinds.size(), size_t(unit.stage) + 1));
      kinds[unit.stage][static_cast<uint8_t>(unit.kind)] = true;
      microBatches = std::max(microBatches, size_t(unit.microBatch) + 1);
    }
}

std::vector<Unit> Flow::needs(Unit unit) const {
  auto [stage, kind, microBatch] = unit;
  if (kind == Kind::weight)
    return {{stage, Kind::input, microBatch}};
  if (kind == Kind::forward)
    return stage == 0 ? std::vector<Unit>() : std::vector<Unit>{{stage - 1, Kind::forward, microBatch}};
  std::vector<Unit> needs = {{stage, Kind::forward, microBatch}};
  if (stage + 1 < kinds.size())
    needs.push_back({stage + 1, has(stage + 1, Kind::backward) ? Kind::backward : Kind::input, microBatch});
  return needs;
}

bool Flow::isLast(Unit unit) const {
  return unit.kind == Kind::backward || unit.kind == Kind::weight ||
         (unit.kind == Kind::input && !has(unit.stage, Kind::weight));
}

} // namespace epl::runtime::schedule
