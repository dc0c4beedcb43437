// What a plan runs on.
#ifndef EPL_RUNTIME_EXECUTOR_BACKEND_H
#define EPL_RUNTIME_EXECUTOR_BACKEND_H

#include "runtime/collective/Collectives.h"
#include "runtime/collective/Transport.h"
#include "runtime/plan/model/Processes.h"

namespace epl::runtime {

/// Devices, and what moves data between them. Plans and states keep what they use of it.
struct Backend {
  std::shared_ptr<DeviceSet> devices;
  std::shared_ptr<Collectives> collectives;
  /// Between which the devices of a plan are divided; null if all are here.
  std::shared_ptr<ProcessGroup> processes = nullptr;

  /// Which of a plan's devices each process has.
  Processes divide(const plan::PlanT &plan) const {
    return processes ? Processes{processes->process(), plan.devices / processes->numProcesses()}
                     : Processes{0, plan.devices};
  }
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_BACKEND_H
