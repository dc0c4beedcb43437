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
  else if (std::filesystem::exists(nameOrFile))
    schedule.table = readTable(nameOrFile);
  else
    generate(nameOrFile, {.meshes = 1, .microBatches = 1}); // throws what names there are
  return schedule;
}

bool Schedule::splitsBackward() const {
  auto isPart = [](Unit unit) { return unit.kind == Kind::input || unit.kind == Kind::weight; };
  auto hasPart = [&](const Table &lanes) {
    return std::ranges::any_of(lanes, [&](const auto &lane) { return std::ranges::any_of(lane, isPart); });
  };
  if (!table.empty())
    return hasPart(table);
  uint32_t stages = hasSeveralStages() ? 2 : 1;
  return hasPart(generate(text, {.meshes = 2, .stagesPerMesh = stages, .microBatches = 2}));
}

bool Schedule::hasSeveralStages() const {
  auto own = std::ranges::find(getGenerators(), text, &Generator::name);
  return own != getGenerators().end() && own->hasSeveralStages;
}

std::vector<uint32_t> Schedule::stageMeshes() const {
  std::map<uint32_t, uint32_t> meshes;
  for (uint32_t mesh = 0; mesh < table.size(); ++mesh)
    for (Unit unit : table[mesh])
      meshes.emplace(unit.stage, mesh);
  std::vector<uint32_t> list;
  list.reserve(meshes.size());
  for (auto [stage, mesh] : meshes)
    list.push_back(mesh);
  return list;
}

Table Schedule::make(uint32_t meshes, uint32_t stages, uint32_t microBatches) const {
  std::string schedule = "schedule \"" + text + "\"";
  if (table.empty() && stages % meshes != 0)
    throw PlanError(schedule + " needs as many stages on each of " + std::to_string(meshes) +
                    " meshes, found " + std::to_string(stages) + " stages");
  if (table.empty())
    return generate(text, {meshes, stages / meshes, microBatches});
  if (table.size() != meshes)
    throw PlanError(schedule + " is for " + std::to_string(table.size()) + " meshes, expected " +
                    std::to_string(meshes));
  try {
    check(table, stages, microBatches);
  } catch (const PlanError &error) {
    std::vector<std::string> messages = error.messages();
    for (std::string &message : messages)
      message.insert(0, schedule + ": ");
    throw PlanError(std::move(messages));
  }
  return table;
}

} // namespace epl::runtime::schedule
