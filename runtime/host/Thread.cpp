#include "runtime/host/Thread.h"

#include <algorithm>
#include <immintrin.h>
#include <sched.h>
#include <thread>

namespace epl::runtime {

unsigned availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ArithmeticMode::ArithmeticMode() : before(_mm_getcsr()) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040, kNoTraps = 0x1f80;
  _mm_setcsr(kNoTraps | kFlushToZero | kDenormalsAreZero);
}

ArithmeticMode::~ArithmeticMode() { _mm_setcsr(before); }

BlockedSignals::BlockedSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    sigdelset(&signals, fault);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
}

BlockedSignals::~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

} // namespace epl::runtime
