// Plans of pipelines, made of tables.

#ifndef EPL_TEST_UNIT_PLAN_SIMULATE_PIPELINE_H
#define EPL_TEST_UNIT_PLAN_SIMULATE_PIPELINE_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/schedule/Table.h"

namespace epl::runtime::test {

/// A device for each lane of the table, of which there are two or more. Activations go from each stage to the
/// next one, gradients back, through channels with room for `depth` messages; each stage adds up what its
/// backward work makes. A message has `bytes` bytes. A command computes for each unit.
plan::PlanT pipelinePlan(const schedule::Table &table, uint32_t depth, uint32_t bytes = 16);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_PLAN_SIMULATE_PIPELINE_H
