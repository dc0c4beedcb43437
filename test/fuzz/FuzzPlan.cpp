#include "test/fuzz/FuzzPlan.h"

#include "runtime/collective/inproc/Inproc.h"
#include "runtime/device/cpu/CpuDevices.h"
#include "runtime/executor/LoadedPlan.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Reader.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/verify/Verifier.h"

#include <cstdlib>

namespace epl::runtime::test {

void tryPlan(std::span<const uint8_t> bytes) {
  try {
    auto plan = std::make_shared<plan::PlanT>(parsePlanUnverified(bytes, "fuzz"));
    std::string text = dumpPlan(*plan);
    if (dumpPlan(parsePlanUnverified(serializePlan(*plan), "again")) != text)
      std::abort();
    requireValid(*plan);
    plan->images.clear(); // foreign code is not for this process: kernels are then missing
    LoadedPlan(plan, {std::make_shared<CpuDevices>(), std::make_shared<InprocCollectives>()});
  } catch (const Error &) {
  }
}

} // namespace epl::runtime::test
