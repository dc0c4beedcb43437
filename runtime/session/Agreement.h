// Whether processes pass the same arguments.
#ifndef EPL_RUNTIME_SESSION_AGREEMENT_H
#define EPL_RUNTIME_SESSION_AGREEMENT_H

#include "runtime/plan/format/Hash.h"
#include "runtime/session/Slots.h"
#include "runtime/session/State.h"

#include <mutex>

namespace epl::runtime {

/// Problem: every process passes the whole of an argument that all devices read, say a learning rate, and of
/// the first value of a state. If the values differ, so do the copies that are meant to be one; if a branch
/// depends on one, processes wait for messages that others never send. Method: at the begin of a step each
/// process sends hashes of such arguments to its two neighbours in the ring of processes, and the step ends
/// once theirs have come and are equal. No command waits for that. So a process is never more than a step
/// ahead of its neighbours, either. Of a state that is on the devices it says which call made it.
class Agreement {
public:
  /// What a process says of an argument: nothing, if it need not be the same in all processes.
  struct Said {
    enum class Kind : uint64_t { nothing, tensor, state };

    Kind kind = Kind::nothing;
    uint64_t first = 0; ///< the first bytes of a tensor, for messages; of a state the number of its call
    Hash128 hash = {};  ///< of a tensor

    bool operator==(const Said &) const = default;
  };

  /// `transport` belongs to all processes of the plan, and `number` is that of no other message of it. `plan`
  /// and `slots` outlive it.
  Agreement(const LoadedPlan &plan, const Slots &slots, const ProcessGroup &group,
            std::shared_ptr<Transport> transport, uint32_t number);
  ~Agreement() { cancel(); }
  Agreement(const Agreement &) = delete;

  /// What this process says of the tensor that is passed for an argument.
  Said describe(size_t argument, const std::byte *tensor) const;
  /// The same of a value that is on the devices.
  Said describe(size_t argument, const StateBuffer &value) const;

  /// Begins a step, by telling what is said of each argument. Throws Error if a process is lost, or after
  /// `breakOff`.
  void begin(std::vector<Said> own);
  /// Whether the neighbours have said the same; to be asked again and again. Throws Error that names an
  /// argument that differs. From any thread.
  bool isReached();
  /// A step has failed for `reason`; `isWhole`: after all of its commands. If not, or if the processes have
  /// not agreed, others wait for what never comes: no later step can be run. Gives up messages that have not
  /// come.
  void breakOff(const std::string &reason, bool isWhole);
  /// Why no later step can be run; empty if they can. From any thread.
  std::string fault() const;

private:
  struct Neighbour {
    uint32_t process;
    std::vector<Said> said;
  };
  /// What messages touch: left behind where they may do so until the process ends.
  struct Room {
    std::vector<Said> own;
    std::vector<Neighbour> neighbours;
    std::atomic<uint32_t> left = 0;
  };

  bool isCompared(size_t argument) const;
  void cancel();
  void compare(const Neighbour &neighbour) const;
  std::string describe(size_t argument, const Said &own, const Said &other, uint32_t neighbour) const;

  const LoadedPlan &plan;
  const Slots &slots;
  const uint32_t process, number;
  std::shared_ptr<Transport> transport;
  std::vector<bool> compared; // of each argument
  std::unique_ptr<Room> room;
  std::atomic<bool> reached = true;
  mutable std::mutex mutex;
  std::string broken; // why
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_AGREEMENT_H
