// What a plan runs on.
#ifndef EPL_RUNTIME_EXECUTOR_BACKEND_H
#define EPL_RUNTIME_EXECUTOR_BACKEND_H

#include "runtime/collective/Collectives.h"

namespace epl::runtime {

/// Devices, and what moves data between them. Plans and states keep what they use of it.
struct Backend {
  std::shared_ptr<DeviceSet> devices;
  std::shared_ptr<Collectives> collectives;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_BACKEND_H
