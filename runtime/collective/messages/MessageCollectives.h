// Collectives between processes, by messages.
#ifndef EPL_RUNTIME_COLLECTIVE_MESSAGES_MESSAGECOLLECTIVES_H
#define EPL_RUNTIME_COLLECTIVE_MESSAGES_MESSAGECOLLECTIVES_H

#include "runtime/collective/Collectives.h"
#include "runtime/collective/Transport.h"

namespace epl::runtime {

/// A rank reads the memory of members that are here, in the thread that starts its command, and what it reads
/// of others comes in messages before. So every result has the bits that one process gives. Each process has
/// `devicesEach` neighbouring devices. Loading throws Error for devices with memory of their own.
class MessageCollectives final : public Collectives {
public:
  MessageCollectives(std::shared_ptr<ProcessGroup> group, uint32_t devicesEach)
      : group(std::move(group)), devicesEach(devicesEach) {}

  std::unique_ptr<BoundCollectives> load(const plan::PlanT &plan, const Channels &channels,
                                         const LocalRanks &ranks, DeviceSet &devices) override;

private:
  std::shared_ptr<ProcessGroup> group;
  uint32_t devicesEach;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MESSAGES_MESSAGECOLLECTIVES_H
