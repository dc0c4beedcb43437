#include "test/fuzz/FuzzPlan.h"

#include "runtime/executor/LoadedPlan.h"
#include "runtime/plan/Dump.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Verifier.h"
#include "runtime/plan/Writer.h"

#include <cstdlib>

namespace epl::runtime::test {

void tryPlan(std::span<const uint8_t> bytes) {
  try {
    auto plan = std::make_shared<plan::PlanT>(parsePlanUnverified(bytes, "fuzz"));
    std::string text = dumpPlan(*plan);
    if (dumpPlan(parsePlanUnverified(serializePlan(*plan), "again")) != text)
      std::abort();
    requireValid(*plan);
    plan->image.clear(); // foreign code is not for this process: kernels are then missing
    LoadedPlan(plan, "cpu:" + std::to_string(plan->devices));
  } catch (const Error &) {
  }
}

} // namespace epl::runtime::test
