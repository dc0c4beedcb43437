// Whether processes pass the same arguments.
#ifndef EPL_RUNTIME_SESSION_AGREEMENT_H
#define EPL_RUNTIME_SESSION_AGREEMENT_H

#include "runtime/plan/format/Hash.h"
#include "runtime/session/Slots.h"

namespace epl::runtime {

/// Problem: every process passes the whole of an argument that all devices read, say a learning rate, and of
/// the first value of a state. If the values differ, so do the copies that are meant to be one; if a branch
/// depends on one, processes wait for messages that others never send. Method: at the begin of a step each
/// process sends hashes of such arguments to its two neighbours in the ring of processes, and the step ends
/// once theirs have come and are equal. No command waits for that. So a process is never more than a step
/// ahead of its neighbours, either.
class Agreement {
public:
  /// What a process says of an argument: nothing, if it need not be the same in all processes or is none of
  /// the host.
  struct Said {
    Hash128 hash = {};
    uint64_t first = 0; ///< the first bytes, for messages

    bool isNothing() const { return hash == Hash128{}; }
  };

  /// `transport` belongs to all processes of the plan, and `number` is that of no other message of it. `plan`
  /// and `slots` outlive it.
  Agreement(const LoadedPlan &plan, const Slots &slots, const ProcessGroup &group,
            std::shared_ptr<Transport> transport, uint32_t number);
  ~Agreement() { cancel(); }
  Agreement(const Agreement &) = delete;

  /// What this process says of the tensor that is passed for an argument: of all of a state, else of the
  /// first 64 KiB.
  Said describe(size_t argument, const std::byte *tensor) const;

  /// Begins a step, by telling what is said of each argument. Throws Error if a process is lost, or a step
  /// was stopped before.
  void begin(std::vector<Said> own);
  /// Whether the neighbours have said the same; to be asked again and again. Throws Error that names an
  /// argument that differs. From any thread.
  bool isReached();
  /// Gives up what has not come, of a step that was stopped.
  void cancel();

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
  void compare(const Neighbour &neighbour) const;
  std::string describe(size_t argument, const Said &own, const Said &other, uint32_t neighbour) const;

  const LoadedPlan &plan;
  const Slots &slots;
  const uint32_t process, number;
  std::shared_ptr<Transport> transport;
  std::vector<bool> compared; // of each argument
  std::unique_ptr<Room> room;
  std::atomic<bool> reached = true;
  bool isBroken = false;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_AGREEMENT_H
