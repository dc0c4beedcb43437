// From how devices are written to what a plan runs on: the one place that knows every kind.
#ifndef EPL_RUNTIME_SESSION_OPENDEVICES_H
#define EPL_RUNTIME_SESSION_OPENDEVICES_H

#include "runtime/executor/Backend.h"

#include <string>

namespace epl::runtime {

/// The devices that `text` ("cpu:2") names, for a verified plan; of one kind always the same. With
/// `processes` each of these has as many of them, neighbours. Throws Error if they are not those that the
/// plan is for, or if they cannot be divided so.
Backend openDevices(const plan::PlanT &plan, const std::string &text,
                    std::shared_ptr<ProcessGroup> processes = nullptr);

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_OPENDEVICES_H
