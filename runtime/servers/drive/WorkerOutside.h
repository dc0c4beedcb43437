// Servers as what is outside of a worker's plan: parameters are pulled and gradients pushed while it runs.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_WORKEROUTSIDE_H
#define EPL_RUNTIME_SERVERS_DRIVE_WORKEROUTSIDE_H

#include "runtime/servers/drive/Worker.h"
#include "runtime/session/Outside.h"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>

namespace epl::runtime::servers {

/// What is pushed for a parameter: which of the values that its update reads of workers.
struct PushId {
  uint32_t parameter, index;
};

/// One step of a worker.
class WorkerOutside final : public Outside, Worker::Listener {
public:
  using Pulled = std::map<uint32_t, ValueId>;
  using Pushed = std::map<uint32_t, std::vector<PushId>>;

  /// `pulled` and `pushed`: of each slot of `plan` with such a role, what its value is. A value may be pushed
  /// for several parameters; each has all of its pushes. Throws Error if that is not so, or if servers have
  /// values of another type. `keeps`: what is pushed stays here until `release`. The worker outlives it.
  WorkerOutside(Worker &worker, std::shared_ptr<const Job> job, const plan::PlanT &plan, uint64_t step,
                Pulled pulled, Pushed pushed, bool keeps = false);

  void expect(std::span<const Wanted> wanted) override;
  void pull(std::span<const Wanted> wanted, Outside::Listener &listener) override;
  void push(uint32_t slot, const HostTensor &tensor) override;
  void end() noexcept override { worker.drop(); }

  // Of what it keeps, after the end of the plan.

  /// Throws Error as the function of that name does.
  void checkFinite() const;
  /// Hands all of it over. Throws Error if the job has failed.
  void release();

  /// How many parameters were handed over; of all that it pushes.
  size_t numPushed() const { return handed; }
  bool hasPushedAll() const { return handed == wholes.size(); }

private:
  void checkSlot(const plan::PlanT &plan, uint32_t slot) const;
  void countPushes();
  void request(std::span<const Wanted> wanted);
  void arrived(ValueId value) override;
  void failed(const std::string &reason) override;
  bool add(PushId push, const HostTensor &tensor, std::vector<HostTensor> &whole);
  void hand(uint32_t parameter, const std::vector<HostTensor> &whole);

  Worker &worker;
  const std::shared_ptr<const Job> job;
  const uint64_t step;
  const Pulled pulled;
  const Pushed pushed;
  const bool keeps;
  std::map<ValueId, uint32_t> slotOf; // what is pulled

  /// What has happened of what was asked for, before somebody waits for it.
  struct Early {
    std::vector<uint32_t> slots = {}; // that are there
    std::optional<std::string> failure = {};
  };
  bool isExpected = false;
  std::mutex comingMutex; // guards these two
  Outside::Listener *listener = nullptr;
  Early early;

  /// What is pushed for a parameter, and how much of it is not there.
  struct Whole {
    std::vector<HostTensor> pushes;
    size_t left;
  };
  std::mutex mutex;
  std::map<uint32_t, Whole> wholes;                 // by parameter
  std::map<uint32_t, std::vector<HostTensor>> kept; // likewise
  std::atomic<size_t> handed = 0;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_WORKEROUTSIDE_H
