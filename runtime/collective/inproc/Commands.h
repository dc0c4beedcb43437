// The commands of a plan that move data between ranks, in memory of the process.
#ifndef EPL_RUNTIME_COLLECTIVE_INPROC_COMMANDS_H
#define EPL_RUNTIME_COLLECTIVE_INPROC_COMMANDS_H

#include "runtime/collective/inproc/ChannelMemory.h"

namespace epl::runtime {

/// Binds a collective or a transfer of the plan for one mesh; each runs to its end in the thread that starts
/// it. The plan and the channels' memory outlive it. Throws Error if there is no such reduction.
std::unique_ptr<Command> bindCollective(const plan::PlanT &plan, const plan::ActionUnion &action,
                                        const ChannelMemory &channels);

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_INPROC_COMMANDS_H
