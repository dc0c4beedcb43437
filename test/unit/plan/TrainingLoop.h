// A large plan that looks like one of the compiler: what measures growth is made of it.

#ifndef EPL_TEST_UNIT_PLAN_TRAINING_LOOP_H
#define EPL_TEST_UNIT_PLAN_TRAINING_LOOP_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>

namespace epl::runtime::test {

struct LoopShape {
  uint32_t iterations;
  uint32_t layers = 4;
  uint32_t data = 2, model = 2; // lengths of the axes; data at most 64
};

/// Commands and buffers for each layer and iteration.
inline constexpr uint32_t loopCommands = 20, loopBuffers = 5;

/// An unrolled loop of training steps. Forward, a layer gathers its split weights over "data", contracts,
/// sums over "model" in place, and works on in place; what it makes lives until the layer comes backward,
/// which sums in place over "model" and over both axes, updates the weights, and copies a row into a history.
/// The verified plan.
plan::PlanT trainingLoop(const LoopShape &shape);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_PLAN_TRAINING_LOOP_H
