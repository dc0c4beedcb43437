// Commands that some ranks run only.
#ifndef EPL_RUNTIME_EXECUTOR_OWNED_H
#define EPL_RUNTIME_EXECUTOR_OWNED_H

#include "runtime/device/Command.h"

namespace epl::runtime {

/// The command on the ranks of its owner; on all others it is skipped. Itself if `owner` is null.
std::unique_ptr<Command> ownedBy(const plan::Owner *owner, std::unique_ptr<Command> command);

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_OWNED_H
