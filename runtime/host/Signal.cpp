#include "runtime/host/Signal.h"

#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace epl::runtime {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the system looks at the number itself");

void Signal::wakeOne() { syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

/// The system sleeps only if the number still is what was seen. Who raises it looks for sleepers afterwards,
/// who say so before: so one of the two sees the other.
void Signal::sleep(uint32_t seen, const std::chrono::nanoseconds *limit) {
  timespec relative{};
  if (limit) {
    relative.tv_sec = limit->count() / 1'000'000'000;
    relative.tv_nsec = limit->count() % 1'000'000'000;
  }
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  do
    syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, seen, limit ? &relative : nullptr, nullptr, 0);
  while (!limit && get() == seen);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace epl::runtime
