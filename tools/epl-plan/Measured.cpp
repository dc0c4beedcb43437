#include "Measured.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Reader.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Parts.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace epl::runtime::tool {

using Json = nlohmann::json;

static double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// All durations of each command of each part. Throws Json::exception on anything that is no timeline.
using Durations = std::vector<std::vector<std::vector<double>>>;

static Durations durationsOf(const std::vector<const plan::PlanT *> &parts, const Json &timeline,
                             const std::string &name) {
  Durations durations;
  for (const plan::PlanT *part : parts)
    durations.emplace_back(part->commands.size());
  for (const Json &event : timeline.at("traceEvents")) {
    if (event.at("ph") != "X" || !event.at("args").contains("command"))
      continue;
    auto command = event.at("args").at("command").get<uint32_t>();
    auto part = event.at("args").value("part", 0U);
    auto found = event.at("name").get<std::string>();
    if (part >= parts.size() || command >= parts[part]->commands.size() ||
        parts[part]->commands[command]->name != found)
      throw PlanError("timeline \"" + name + "\" is not one of this plan: it has a command " +
                      std::to_string(command) + " named " + runtime::quoted(found));
    durations[part][command].push_back(event.at("dur").get<double>() * 1e3);
  }
  return durations;
}

static std::vector<double> mediansOf(const plan::PlanT &plan, std::vector<std::vector<double>> durations,
                                     const std::string &name) {
  std::vector<double> medians;
  for (uint32_t command = 0; command < durations.size(); ++command) {
    bool isSkipped = durations[command].empty() && !plan.commands[command]->guards.empty();
    if (durations[command].empty() && !isSkipped)
      throw PlanError("timeline \"" + name + "\" has no " + commandName(plan, command) +
                      ": it is of another plan, or of no whole step");
    medians.push_back(isSkipped ? 0 : median(std::move(durations[command])));
  }
  return medians;
}

std::vector<std::vector<double>> measuredNanoseconds(const plan::PlanT &plan,
                                                     const std::filesystem::path &path) {
  std::vector<uint8_t> bytes = readBytes(path);
  std::vector<const plan::PlanT *> parts = meshPlansOf(plan);
  Durations durations;
  try {
    durations = durationsOf(parts, Json::parse(bytes.begin(), bytes.end()), path.string());
  } catch (const Json::exception &error) {
    throw PlanError("\"" + path.string() +
                    "\" is not a timeline as compiled.trace and epl-run --trace write it: " + error.what());
  }
  std::vector<std::vector<double>> medians;
  medians.reserve(parts.size());
  for (size_t part = 0; part < parts.size(); ++part)
    medians.push_back(mediansOf(*parts[part], std::move(durations[part]), path.string()));
  return medians;
}

} // namespace epl::runtime::tool
