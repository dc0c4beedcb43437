#include "runtime/plan/schedule/Table.h"

#include <algorithm>
#include <limits>

namespace epl::runtime::schedule {

Extents extentsOf(const Table &table) {
  constexpr uint32_t largest = std::numeric_limits<uint32_t>::max() - 1;
  Extents extents;
  for (const std::vector<Unit> &lane : table)
    for (Unit unit : lane) {
      extents.stages = std::max(extents.stages, std::min(unit.stage, largest) + 1);
      extents.microBatches = std::max(extents.microBatches, std::min(unit.microBatch, largest) + 1);
    }
  return extents;
}

char letterOf(Kind kind) { return kindLetters[static_cast<uint8_t>(kind)]; }

std::string toString(Unit unit) {
  return "s" + std::to_string(unit.stage) + "." + letterOf(unit.kind) + ".m" +
         std::to_string(unit.microBatch);
}

} // namespace epl::runtime::schedule
