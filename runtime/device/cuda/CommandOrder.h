// The commands of all parts of a plan in one order.
#ifndef EPL_RUNTIME_DEVICE_CUDA_COMMANDORDER_H
#define EPL_RUNTIME_DEVICE_CUDA_COMMANDORDER_H

#include "runtime/plan/model/Channels.h"

#include <vector>

namespace epl::runtime::cuda {

/// The commands of the meshes of a plan, each behind all that it waits for: events can be recorded before
/// streams wait for them. Lanes are independent, so that the programs of two parts need have no common order.
/// Throws Error if commands wait for each other.
std::vector<PartCommand> orderCommands(const std::vector<const plan::PlanT *> &meshes,
                                       const Channels &channels);

/// Where the commands of a mesh, which is part `part`, are in such an order.
std::vector<size_t> placesIn(const std::vector<PartCommand> &order, uint32_t part, const plan::PlanT &mesh);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_COMMANDORDER_H
