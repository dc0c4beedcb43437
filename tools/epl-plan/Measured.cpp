#include "Measured.h"

#include "runtime/plan/Error.h"
#include "runtime/plan/Names.h"
#include "runtime/plan/Reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace epl::runtime::tool {

using Json = nlohmann::json;

static double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// All durations of each command. Throws Json::exception on anything that is no timeline.
static std::vector<std::vector<double>> durationsOf(const plan::PlanT &plan, const Json &timeline,
                                                    const std::string &name) {
  std::vector<std::vector<double>> durations(plan.commands.size());
  for (const Json &event : timeline.at("traceEvents")) {
    if (event.at("ph") != "X" || !event.at("args").contains("command"))
      continue;
    auto command = event.at("args").at("command").get<uint32_t>();
    auto found = event.at("name").get<std::string>();
    if (command >= plan.commands.size() || plan.commands[command]->name != found)
      throw PlanError("timeline \"" + name + "\" is not one of this plan: it has a command " +
                      std::to_string(command) + " named " + runtime::quoted(found));
    durations[command].push_back(event.at("dur").get<double>() * 1e3);
  }
  return durations;
}

std::vector<double> measuredNanoseconds(const plan::PlanT &plan, const std::filesystem::path &path) {
  std::vector<uint8_t> bytes = readBytes(path);
  std::vector<std::vector<double>> durations;
  try {
    durations = durationsOf(plan, Json::parse(bytes.begin(), bytes.end()), path.string());
  } catch (const Json::exception &error) {
    throw PlanError("\"" + path.string() + "\" is not a timeline: " + error.what());
  }
  std::vector<double> medians;
  for (uint32_t command = 0; command < durations.size(); ++command) {
    bool isSkipped = durations[command].empty() && !plan.commands[command]->guards.empty();
    if (durations[command].empty() && !isSkipped)
      throw PlanError("timeline \"" + path.string() + "\" has no " + commandName(plan, command) +
                      ": it is of another plan, or of no whole step");
    medians.push_back(isSkipped ? 0 : median(std::move(durations[command])));
  }
  return medians;
}

} // namespace epl::runtime::tool
