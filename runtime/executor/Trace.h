// What ran when: a recording of the commands of a session's steps.
#ifndef EPL_RUNTIME_EXECUTOR_TRACE_H
#define EPL_RUNTIME_EXECUTOR_TRACE_H

#include "runtime/executor/LoadedPlan.h"

#include <atomic>
#include <chrono>

namespace epl::runtime {

/// Recorded commands, in a ring for each worker: the oldest are overwritten.
class Trace {
public:
  using Clock = std::chrono::steady_clock;

  explicit Trace(uint32_t numWorkers) : rings(numWorkers) {}

  /// Starts a new recording or ends the current one. No step may be running.
  void enable(bool on);
  bool isEnabled() const { return enabled; }

  /// A command of a rank of a part.
  struct Instance {
    uint32_t part, rank, command;
  };
  void record(uint32_t worker, Instance instance, uint64_t call, Clock::time_point begin,
              Clock::time_point end) {
    Ring &ring = rings[worker];
    ring.events[ring.count++ % kCapacity] = {begin, end, instance, call};
  }

  /// The recording in the JSON of Chrome's trace viewer, which Perfetto opens: a process that marks the
  /// steps, one for each device with a thread for each lane, and an event for each command with its index,
  /// the part it is of if there are several, source line, work, bytes and speed. No step may be running.
  std::string json(const LoadedPlan &plan) const;

private:
  static constexpr size_t kCapacity = size_t(1) << 17;
  struct Event {
    Clock::time_point begin, end;
    Instance instance;
    uint64_t call;
  };
  struct alignas(64) Ring {
    std::vector<Event> events;
    size_t count = 0;
  };

  bool enabled = false;
  Clock::time_point start;
  std::vector<Ring> rings;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_TRACE_H
