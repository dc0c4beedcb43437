// The gradients of one block that a worker has not got rid of.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_GRADIENTS_H
#define EPL_RUNTIME_SERVERS_LOGIC_GRADIENTS_H

#include "runtime/servers/logic/WorkerActions.h"

#include <deque>
#include <optional>

namespace epl::runtime::servers {

/// One that is sent, and others that wait until it has been acknowledged. Those that wait may be merged.
class Gradients {
public:
  struct Entry {
    GradientHandle gradient;
    uint64_t step;  ///< of what is merged the last one
    uint32_t count; ///< how many are merged
  };

  /// Adds one of a later step than all before. Returns what it is to be merged into, if the last one that
  /// waits is of fewer than `maxMerge`.
  std::optional<GradientHandle> add(uint64_t step, GradientHandle gradient, uint32_t maxMerge);

  /// What is to be sent next, which counts as sent from now on; nothing if one is sent already, or none
  /// waits.
  const Entry *send();
  /// What has been sent and not acknowledged.
  const Entry *sent() const { return flying ? &*flying : nullptr; }
  /// The one of a step has been acknowledged. Returns it; nothing if that is known already.
  std::optional<Entry> acknowledged(uint64_t step);

  /// How many steps have been added to: the last one's number and 1.
  uint64_t steps() const { return next; }
  size_t waiting() const { return queue.size(); }
  bool empty() const { return !flying && queue.empty(); }

private:
  std::optional<Entry> flying;
  std::deque<Entry> queue;
  uint64_t next = 0;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_GRADIENTS_H
