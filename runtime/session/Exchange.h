// What processes tell one another outside of steps.
#ifndef EPL_RUNTIME_SESSION_EXCHANGE_H
#define EPL_RUNTIME_SESSION_EXCHANGE_H

#include "runtime/collective/Transport.h"

#include <functional>
#include <vector>

namespace epl::runtime {

/// Calls that all processes of a group make in one order, from one thread of each. Each waits for the other
/// processes, and calls `wait` again and again meanwhile; what that throws ends the call, after which the
/// exchange can't be used any more.
class Exchange {
public:
  using Wait = std::function<void()>;
  using Bytes = std::vector<std::byte>;

  explicit Exchange(std::shared_ptr<ProcessGroup> group);

  const std::shared_ptr<ProcessGroup> &group() const { return processes; }

  /// What each process says, in their order.
  std::vector<Bytes> exchange(std::span<const std::byte> own, const Wait &wait);

private:
  void await(const std::atomic<uint32_t> &left, const Wait &wait);
  template <typename Visit> void forOthers(Visit visit) const;

  std::shared_ptr<ProcessGroup> processes;
  std::shared_ptr<Transport> transport;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_EXCHANGE_H
