// Commands that a guard may skip.
#ifndef EPL_RUNTIME_DEVICE_CPU_GUARDED_H
#define EPL_RUNTIME_DEVICE_CPU_GUARDED_H

#include "runtime/device/Command.h"

namespace epl::runtime {

/// The command, behind its guards, bytes in memory of the host: itself if it has none. The guards outlive it.
std::unique_ptr<Command> guarded(std::unique_ptr<Command> command, std::span<const plan::Guard> guards);

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_GUARDED_H
