#include "runtime/plan/simulate/Predict.h"

#include "runtime/plan/model/Parts.h"
#include "runtime/plan/model/Units.h"
#include "runtime/plan/simulate/UnitTimes.h"

#include <cmath>

namespace epl::runtime {

std::string scheduleText(const plan::PlanT &plan) {
  std::map<uint32_t, schedule::Table> tables = tablesOf(plan);
  if (tables.empty())
    return "";
  const schedule::Table &table = tables.begin()->second;
  auto [stages, microBatches] = schedule::extentsOf(table);
  std::string count = std::to_string(microBatches) + " micro-batches";
  if (table.size() == 1)
    return ", " + count;
  const std::string &name = meshPlansOf(plan).front()->schedule;
  PlanRun run =
      simulate(plan, {.nanoseconds = commandTimes(plan, {}), .lanesShareThread = lanesShareThread(plan)});
  return ", " + std::to_string(stages) + " stages, " + count + " by " + name.substr(name.rfind('/') + 1) +
         ", bubble " + std::to_string(std::lround(100 * run.bubble())) + " %";
}

} // namespace epl::runtime
