#include "runtime/plan/schedule/Schedule.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/schedule/Check.h"
#include "runtime/plan/schedule/Text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace epl::runtime::schedule {

static std::string readFile(const std::string &file) {
  std::ifstream stream(file);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf()))
    throw PlanError("schedule \"" + file + "\": the file cannot be read");
  return text.str();
}

Schedule Schedule::of(const std::string &nameOrFile) {
  Schedule schedule;
  schedule.text = nameOrFile;
  if (isGenerator(nameOrFile))
    std::ranges::transform(schedule.text, schedule.text.begin(),
                           [](unsigned char c) { return std::tolower(c); });
  else if (std::filesystem::exists(nameOrFile))
    schedule.table = parse(readFile(nameOrFile), nameOrFile);
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
  auto own = std::ranges::find(getGenerators(), text, &Generator::name);
  return hasPart(
      own->make({.meshes = 2, .stagesPerMesh = own->hasSeveralStages ? 2U : 1U, .microBatches = 2}));
}

Table Schedule::make(const Shape &shape) const {
  if (table.empty())
    return generate(text, shape);
  std::string file = "schedule \"" + text + "\"";
  if (table.size() != shape.meshes)
    throw PlanError(file + " is for " + std::to_string(table.size()) + " meshes, expected " +
                    std::to_string(shape.meshes));
  try {
    check(table, shape.meshes * shape.stagesPerMesh, shape.microBatches);
  } catch (const PlanError &error) {
    std::vector<std::string> messages = error.messages();
    for (std::string &message : messages)
      message.insert(0, file + ": ");
    throw PlanError(std::move(messages));
  }
  return table;
}

} // namespace epl::runtime::schedule
