#include "runtime/plan/model/Units.h"

#include "runtime/plan/model/Devices.h"
#include "runtime/plan/model/Parts.h"

namespace epl::runtime {

// The kinds have the same order in plans and in tables.
static_assert(int(plan::UnitKind::forward) == int(schedule::Kind::forward) &&
              int(plan::UnitKind::backward) == int(schedule::Kind::backward) &&
              int(plan::UnitKind::input) == int(schedule::Kind::input) &&
              int(plan::UnitKind::weight) == int(schedule::Kind::weight));

schedule::Unit unitOf(const plan::Unit &unit) {
  return {unit.stage(), schedule::Kind(unit.kind()), unit.micro_batch()};
}

plan::Unit unitOf(uint32_t loop, schedule::Unit unit) {
  return {loop, unit.stage, plan::UnitKind(unit.kind), unit.microBatch};
}

static_assert(schedule::maxMeshes == maxDevices, "each mesh has devices of its own");

std::map<uint32_t, schedule::Table> tablesOf(const plan::PlanT &plan) {
  std::vector<const plan::PlanT *> meshes = meshPlansOf(plan);
  std::map<uint32_t, schedule::Table> tables;
  for (size_t mesh = 0; mesh < meshes.size(); ++mesh)
    for (const plan::Unit &unit : meshes[mesh]->units) {
      schedule::Table &table = tables[unit.loop()];
      table.resize(meshes.size());
      table[mesh].push_back(unitOf(unit));
    }
  return tables;
}

} // namespace epl::runtime
