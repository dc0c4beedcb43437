// What threads sleep on until another one changes it.
#ifndef EPL_RUNTIME_HOST_SIGNAL_H
#define EPL_RUNTIME_HOST_SIGNAL_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace epl::runtime {

/// A number that others raise. std::atomic has the same but for the limit of a wait.
class Signal {
public:
  uint32_t get() const { return value.load(std::memory_order_acquire); }

  /// Changes it and wakes one who sleeps; no call of the system if nobody does.
  void raise() {
    value.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0)
      wakeOne();
  }

  /// Sleeps until it is not `seen` any more.
  void wait(uint32_t seen) { sleep(seen, nullptr); }
  /// The same, for as long as `limit` at most; it may come back earlier.
  void waitFor(uint32_t seen, std::chrono::nanoseconds limit) { sleep(seen, &limit); }

private:
  void wakeOne();
  void sleep(uint32_t seen, const std::chrono::nanoseconds *limit);

  std::atomic<uint32_t> value = 0, sleepers = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_HOST_SIGNAL_H
