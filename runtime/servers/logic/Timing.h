// How long servers and workers wait for each other.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_TIMING_H
#define EPL_RUNTIME_SERVERS_LOGIC_TIMING_H

#include <cstdint>

namespace epl::runtime::servers {

/// A time, on a clock that begins anywhere and does not go back; or a duration.
using Milliseconds = uint64_t;

struct Timing {
  Milliseconds heartbeat = 1000;  ///< how often who is there says so
  Milliseconds silence = 3000;    ///< after which the other one is lost
  Milliseconds deadline = 180000; ///< of a request without any answer; Fluid's FLAGS_rpc_deadline
  Milliseconds arrival = 180000;  ///< of who has not been there yet
  Milliseconds backoff = 200;     ///< before the first retry, doubled for each one that follows
  uint32_t retries = 3;           ///< Fluid's FLAGS_rpc_retry_times
};

/// How long a process has stood still itself (stopped, or its machine asleep) since it was last asked, at
/// `before`: so long it cannot have heard anybody.
inline Milliseconds stoodStill(Milliseconds before, Milliseconds now, const Timing &timing) {
  return now - before > timing.silence / 2 ? now - before : 0;
}

/// "3 s", "1.5 s".
inline double seconds(Milliseconds time) { return double(time) / 1000; }

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_TIMING_H
