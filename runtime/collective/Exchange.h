// What processes tell one another outside of steps.
#ifndef EPL_RUNTIME_COLLECTIVE_EXCHANGE_H
#define EPL_RUNTIME_COLLECTIVE_EXCHANGE_H

#include "runtime/collective/Transport.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace epl::runtime {

/// Calls that all processes of a group make in one order, from one thread of each at a time. Each waits for
/// the other processes, and calls `wait` again and again meanwhile; what that throws ends the call. After one
/// that has ended so, the exchange can't be used any more.
class Exchange {
public:
  using Wait = std::function<void()>;
  using Bytes = std::vector<std::byte>;

  explicit Exchange(std::shared_ptr<ProcessGroup> group);

  const std::shared_ptr<ProcessGroup> &group() const { return processes; }

  /// What each process says, in their order. Throws Error if another one has not said it after `limit`, which
  /// the error names, and if the exchange is stopped.
  std::vector<Bytes> exchange(std::span<const std::byte> own, std::chrono::milliseconds limit,
                              const Wait &wait);

  /// Ends what waits, now and later, with this error. From any thread.
  void stop(const std::string &reason);

private:
  using Clock = std::chrono::steady_clock;
  /// What is received of each process and sent to each, where it counts down.
  using Lefts = std::vector<std::atomic<uint32_t>>;
  /// What the messages of a call touch.
  struct Room {
    explicit Room(uint32_t count) : lefts(count), sizes(count), said(count) {}
    Lefts lefts;
    std::vector<uint64_t> sizes;
    std::vector<Bytes> said;
  };

  void await(const Lefts &lefts, Clock::time_point end, const Wait &wait);
  void check(const Lefts &lefts, Clock::time_point end);
  template <typename Visit> void forOthers(Visit visit) const;

  std::shared_ptr<ProcessGroup> processes;
  std::shared_ptr<Transport> transport;
  std::mutex mutex;
  std::string reason; // why it was stopped
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_EXCHANGE_H
