#include "runtime/collective/inproc/Inproc.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Commands.h"
#include "runtime/device/cpu/Guarded.h"

namespace epl::runtime {

namespace {

class BoundInproc final : public BoundCollectives {
public:
  BoundInproc(const Channels &channels, const LocalRanks &ranks, DeviceSet &devices)
      : channels(channels), ranks(ranks), memory(channels, ranks, devices) {}

  std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t part, uint32_t command) const override {
    const plan::CommandT &source = *plan.commands[command];
    requireMembers(plan, part, source);
    return guarded(bindCollective(plan, source.action, memory), source.guards);
  }

private:
  /// The ranks whose memory a command uses are here.
  void requireMembers(const plan::PlanT &plan, uint32_t part, const plan::CommandT &command) const;
  void require(const plan::CommandT &command, uint32_t part, uint32_t rank) const;

  const Channels &channels;
  const LocalRanks &ranks;
  ChannelMemory memory;
};

void BoundInproc::require(const plan::CommandT &command, uint32_t part, uint32_t rank) const {
  if (!ranks.has(part, rank))
    throw Error("command \"" + command.name + "\" uses memory of device " +
                std::to_string(ranks.device(part, rank)) + ", which is not in this process");
}

void BoundInproc::requireMembers(const plan::PlanT &plan, uint32_t part,
                                 const plan::CommandT &command) const {
  Mesh mesh(plan);
  int32_t communicator = plan.lanes[command.lane]->communicator;
  for (uint32_t rank : ranks.of(part)) {
    if (communicator >= 0)
      for (uint32_t member : mesh.members(uint32_t(communicator), rank))
        require(command, part, member);
    if (const plan::ReceiveT *receive = command.action.AsReceive())
      for (uint32_t source : channels.sources(receive->channel, rank))
        require(command, channels.sender(receive->channel), source);
    if (const plan::SendT *send = command.action.AsSend())
      for (uint32_t listener : channels.listeners(send->channel, rank))
        require(command, channels.receiver(send->channel), listener);
  }
}

} // namespace

std::unique_ptr<BoundCollectives> InprocCollectives::load(const plan::PlanT &, const Channels &channels,
                                                          const LocalRanks &ranks, DeviceSet &devices) {
  if (!devices.usesHostMemory())
    throw Error("collectives within a process need devices that use its memory");
  return std::make_unique<BoundInproc>(channels, ranks, devices);
}

} // namespace epl::runtime
