// What moves data between ranks.
#ifndef EPL_RUNTIME_COLLECTIVE_COLLECTIVES_H
#define EPL_RUNTIME_COLLECTIVE_COLLECTIVES_H

#include "runtime/device/Device.h"
#include "runtime/plan/model/Channels.h"
#include "runtime/plan/model/LocalRanks.h"

namespace epl::runtime {

/// The collectives and transfers of a loaded plan.
class BoundCollectives {
public:
  virtual ~BoundCollectives() = default;

  /// Binds a command that moves data between ranks, of the plan for one mesh that is part `part` of what was
  /// loaded. An all-reduce is two commands that name each other; who runs it as one does all of it in the
  /// first. Throws Error if that is impossible.
  virtual std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t part, uint32_t command) const = 0;

  /// A step was stopped before its end, which other processes do not know: no command that needs them may
  /// begin any more, so that what is of one step is not taken for another's. Each such command is an Error
  /// from here on.
  virtual void breakOff() noexcept {}

  // For threads that watch a step: nobody waits for them, and nothing is counted for them alone.

  /// What it waits for now.
  virtual std::vector<Waiting> waiting() const { return {}; }
  /// How many messages, or pieces of large ones, have come and gone: if it stays the same, nothing moves.
  virtual uint64_t numMoved() const noexcept { return 0; }
};

/// A way to move data between ranks. What its commands must wait for on ranks of other processes, they wait
/// for themselves: the executor orders those that are here.
class Collectives {
public:
  virtual ~Collectives() = default;

  /// Prepares for a whole plan, of which `ranks` are here, with memory of `devices`. All arguments outlive
  /// what it gives.
  virtual std::unique_ptr<BoundCollectives> load(const plan::PlanT &plan, const Channels &channels,
                                                 const LocalRanks &ranks, DeviceSet &devices) = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_COLLECTIVES_H
