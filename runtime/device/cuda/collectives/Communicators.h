// Communicators of NCCL, of groups of devices of a run.
#ifndef EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_COMMUNICATORS_H
#define EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_COMMUNICATORS_H

#include "runtime/device/cuda/Cards.h"
#include "runtime/device/cuda/collectives/Nccl.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace epl::runtime::cuda {

/// Devices that make collectives together, in member order.
using Group = std::vector<uint32_t>;

/// Those of all plans of a process. A group has one, whichever lanes its collectives are on: all calls of a
/// card come one after another (TransferChains.h). Once it is made, only who runs steps opens, finds and
/// aborts.
class Communicators {
public:
  /// Called together. Throws Error if EPL_CUDA_SAME_BITS is no switch, or not the same in all processes.
  Communicators(std::shared_ptr<const Cards> cards, std::shared_ptr<const Peers> peers);
  ~Communicators();
  Communicators(const Communicators &) = delete;

  const Peers &peers() const { return *others; }
  /// Whether all processes have the library.
  bool hasLibrary() const { return isEverywhere; }
  /// Whether floats are added in member order (EPL_CUDA_SAME_BITS), so not by NCCL.
  bool keepOrder() const { return isOrdered; }
  /// Whether NCCL is there and connects all devices of a group: it takes one of each card.
  bool connects(const Group &group) const;
  /// Whether processes other than that of the first device have some.
  bool crossesProcesses(const Group &group) const;

  /// A step begins. `problem` is asked again and again while calls wait for other processes: why the step is
  /// given up; empty if it is not.
  void begin(std::function<std::string()> problem) { whyGivenUp = std::move(problem); }
  /// Makes those of some groups, unless they are there. All processes of the run call it together, with the
  /// same groups, also of others. Throws Error if that is impossible, or if the step is given up: then they
  /// are aborted.
  void open(const std::vector<Group> &groups);
  /// Whether calls for a group no longer wait for its other members, which the first ones connect.
  bool areConnected(const Group &group) const { return others->isAlone() || connected.contains(group); }
  /// Makes the first calls for groups, on a thread of their own, which is left behind if the step is given
  /// up: so `calls` has all that it needs. What they say. Throws Error if the step is given up: then all are
  /// aborted.
  nccl::Status callFirst(const std::set<Group> &groups, const std::function<nccl::Status()> &calls);

  /// That of a group that was opened, for a device that is here.
  nccl::Comm find(const Group &group, uint32_t device) const;
  /// The library, where `connects` has said yes of a group.
  const nccl::Nccl &library() const { return *api; }

  /// Why a call that has begun will not end; empty if nothing is known.
  std::string error() const;
  /// Gives up all calls that have begun, as other processes may never come to them: no other one can begin
  /// then.
  void abort() noexcept;
  bool areAborted() const { return isAborted; }

private:
  nccl::Status runBeside(const std::function<nccl::Status()> &calls);
  void make(const Group &group, const nccl::UniqueId &id);
  void connect(const std::vector<Group> &fresh);

  std::shared_ptr<const Cards> cards;
  std::shared_ptr<const Peers> others;
  const nccl::Nccl *api; // null if there is none
  bool isEverywhere = true, isOrdered;
  std::set<Group> opened, connected;                      // made; and whose first calls are done
  std::map<std::pair<Group, uint32_t>, nccl::Comm> comms; // of devices that are here
  bool isAborted = false;
  std::function<std::string()> whyGivenUp = [] { return std::string(); };
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_COMMUNICATORS_H
