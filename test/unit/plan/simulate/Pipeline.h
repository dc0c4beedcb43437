// Plans of pipelines, made of tables.

#ifndef EPL_TEST_UNIT_PLAN_SIMULATE_PIPELINE_H
#define EPL_TEST_UNIT_PLAN_SIMULATE_PIPELINE_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/schedule/Table.h"

#include <functional>
#include <utility>
#include <vector>

namespace epl::runtime::test {

/// From which stage to which activations go, in the order in which units receive; they send the other way
/// round. Gradients go back.
using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

/// From each stage to the next one.
Edges chainOf(const schedule::Table &table);

struct Pipeline {
  schedule::Table table;
  Edges edges;
  bool trains = true; ///< else it does forward units alone
};

/// A channel goes from a unit of each micro-batch to one on another mesh; both are those of micro-batch 0.
struct UnitChannel {
  schedule::Unit sender, receiver;
  auto operator<=>(const UnitChannel &) const = default;
};
/// In the order of their numbers, in which units receive.
std::vector<UnitChannel> channelsOf(const Pipeline &pipeline);

/// For how many messages each channel has room.
using Depths = std::function<uint32_t(const UnitChannel &)>;

/// A device for each lane of the table, of which there are two or more. A command computes for each unit; a
/// stage adds up what its backward work makes. A message has `bytes` bytes.
plan::PlanT pipelinePlan(const Pipeline &pipeline, const Depths &depths, uint32_t bytes = 16);
/// That of a chain, of channels of one depth.
plan::PlanT pipelinePlan(const schedule::Table &table, uint32_t depth, uint32_t bytes = 16);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_PLAN_SIMULATE_PIPELINE_H
