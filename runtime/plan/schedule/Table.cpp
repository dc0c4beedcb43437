#include "runtime/plan/schedule/Table.h"

namespace epl::runtime::schedule {

char letterOf(Kind kind) { return kindLetters[static_cast<uint8_t>(kind)]; }

std::string toString(Unit unit) {
  return "s" + std::to_string(unit.stage) + "." + letterOf(unit.kind) + ".m" +
         std::to_string(unit.microBatch);
}

} // namespace epl::runtime::schedule
