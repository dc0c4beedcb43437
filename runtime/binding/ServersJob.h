// What parameter servers hold, as Python says it.

#ifndef EPL_RUNTIME_BINDING_SERVERSJOB_H
#define EPL_RUNTIME_BINDING_SERVERSJOB_H

#include "runtime/servers/logic/SetupItems.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace epl::runtime::binding {

// As Python has them, in the order of the manifest's fields.
using Shape = std::vector<int64_t>;
using StateFields = std::tuple<std::string, std::string, Shape, bool>;
using BlockFields = std::tuple<std::string, uint64_t, uint64_t, Shape, uint32_t, uint32_t>;
using PushedFields = std::tuple<std::string, Shape, bool>;
using ParameterFields = std::tuple<std::string, std::string, Shape, std::vector<StateFields>,
                                   std::vector<PushedFields>, std::vector<BlockFields>>;
using SlotFields = std::tuple<std::string, std::string, Shape, nanobind::bytes>;
using TableFields =
    std::tuple<std::string, std::string, uint64_t, std::vector<SlotFields>, std::pair<std::string, double>,
               uint64_t, uint32_t, uint32_t, uint64_t, int64_t>;
using PlanFields = std::pair<std::vector<std::pair<std::string, int32_t>>, nanobind::bytes>;

/// A manifest with the plans that it names.
struct ServersJob {
  /// Throws Error for what is no such job.
  ServersJob(const std::string &mode, const std::string &onLost, uint32_t workers, uint32_t servers,
             uint32_t geoSteps, const std::vector<ParameterFields> &parameters,
             const std::vector<PlanFields> &givenPlans, const std::vector<TableFields> &tables);

  std::vector<uint8_t> manifest;
  Hash128 hash{};
  std::vector<std::vector<uint8_t>> plans;
  std::shared_ptr<const servers::Job> job;
};

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_SERVERSJOB_H
