#include "runtime/plan/schedule/Schedule.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/schedule/Check.h"
#include "runtime/plan/schedule/Text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

namespace epl::runtime::schedule {

Schedule Schedule::of(const std::string &nameOrFile) {
  Schedule schedule;
  schedule.text = nameOrFile;
  if (isGenerator(nameOrFile))
    std::ranges::transform(schedule.text, schedule.text.begin(),
                           [](unsigned char c) { return std::tolower(c); });
  else if (nameOrFile.find_first_of("./") != std::string::npos || std::filesystem::exists(nameOrFile))
    schedule.written = readTable(nameOrFile);
  else
    generate(nameOrFile, {.meshes = 1, .microBatches = 1}); // throws what names there are
  return schedule;
}

bool Schedule::splitsBackward(std::optional<uint32_t> stage) const {
  auto isPart = [&](Unit unit) {
    bool isAsked = !isFile() || unit.stage == stage.value_or(unit.stage);
    return isAsked && (unit.kind == Kind::input || unit.kind == Kind::weight);
  };
  auto hasPart = [&](const Table &lanes) {
    return std::ranges::any_of(lanes, [&](const auto &lane) { return std::ranges::any_of(lane, isPart); });
  };
  if (isFile())
    return hasPart(written.table);
  uint32_t stages = hasSeveralStages() ? 2 : 1;
  return hasPart(generate(text, {.meshes = 2, .stagesPerMesh = stages, .microBatches = 2}));
}

bool Schedule::hasSeveralStages() const {
  auto own = std::ranges::find(getGenerators(), text, &Generator::name);
  return own != getGenerators().end() && own->hasSeveralStages;
}

std::vector<uint32_t> Schedule::stageMeshes() const {
  std::map<uint32_t, uint32_t> meshes;
  for (uint32_t mesh = 0; mesh < numMeshes(); ++mesh)
    for (Unit unit : written.table[mesh])
      meshes.emplace(unit.stage, mesh);
  std::vector<uint32_t> list;
  list.reserve(meshes.size());
  for (auto [stage, mesh] : meshes)
    list.push_back(mesh);
  return list;
}

void Schedule::check(uint32_t microBatches) const {
  if (isFile())
    schedule::check(written, extents().stages, microBatches);
}

Table Schedule::make(uint32_t meshes, uint32_t stages, uint32_t microBatches) const {
  if (isFile() && numMeshes() != meshes)
    throw PlanError(text + ": the table has " + std::to_string(numMeshes()) + " meshes, expected " +
                    std::to_string(meshes));
  if (isFile()) {
    schedule::check(written, stages, microBatches);
    return written.table;
  }
  if (stages % meshes != 0)
    throw PlanError("schedule \"" + text + "\" needs as many stages on each of " + std::to_string(meshes) +
                    " meshes, found " + std::to_string(stages) + " stages");
  return generate(text, {meshes, stages / meshes, microBatches});
}

} // namespace epl::runtime::schedule
