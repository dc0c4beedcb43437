// Collectives between devices that share the memory of the process.
#ifndef EPL_RUNTIME_COLLECTIVE_INPROC_INPROC_H
#define EPL_RUNTIME_COLLECTIVE_INPROC_INPROC_H

#include "runtime/collective/Collectives.h"

namespace epl::runtime {

/// Each member reads the memory of the others, in the thread that starts its command. So all must be here:
/// loading throws Error for devices with memory of their own, binding for a command that needs other ranks.
class InprocCollectives final : public Collectives {
public:
  std::unique_ptr<BoundCollectives> load(const plan::PlanT &plan, const Channels &channels,
                                         const LocalRanks &ranks, DeviceSet &devices) override;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_INPROC_INPROC_H
