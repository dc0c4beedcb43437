// Runs a plan on symbolic bytes, one legal interleaving of all ranks at a time: the semantics that the plan
// library's orders, layouts and checks are held against. It knows lanes, waits and actions from the schema,
// and nothing of Order, Access or the verifier.

#ifndef EPL_TEST_UNIT_PLAN_SIMULATOR_H
#define EPL_TEST_UNIT_PLAN_SIMULATOR_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <vector>

namespace epl::runtime::test {

/// One value for each byte of every slot of every rank after the step. Equal values mean that the bytes were
/// computed in the same way from the same bytes of arguments.
using Outcome = std::vector<uint64_t>;

/// Runs all commands of all ranks one after another in program order.
Outcome runInProgramOrder(const plan::PlanT &plan);

/// Runs one random interleaving. A command takes time: it reads at its begin and again at its end, and what
/// it writes is garbage in between. Memory that nothing wrote holds values that differ from seed to seed.
Outcome runInRandomOrder(const plan::PlanT &plan, uint64_t seed);

/// The plan with every arena buffer at a place of its own.
plan::PlanT withoutReuse(const plan::PlanT &plan);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_PLAN_SIMULATOR_H
