// What the threads of the runtime ask of the CPU that they run on. The one place that knows which CPU that
// is.
#ifndef EPL_RUNTIME_HOST_THREAD_H
#define EPL_RUNTIME_HOST_THREAD_H

#include <csignal>

namespace epl::runtime {

/// The number of cores that this process may run on.
unsigned availableCores();

/// For a loop that waits for another thread: lets the core's other thread, and its memory, have a moment.
inline void pauseCore() { __builtin_ia32_pause(); }

/// While it lives, the calling thread flushes denormals, as the one-device programs of the front ends do.
/// Whatever mode the thread has for arithmetic otherwise, results do not depend on who computes them.
class ArithmeticMode {
public:
  ArithmeticMode();
  ~ArithmeticMode();
  ArithmeticMode(const ArithmeticMode &) = delete;

private:
  unsigned before;
};

/// While it lives, the calling thread leaves signals to others, but for those that a fault of its own raises:
/// the system keeps one that it can give to no thread until a thread takes it. A library's matrix products
/// may have the stack pointer in the midst of their own memory (oneDNN's for AVX-512 have), so that a handler
/// would write there.
class BlockedSignals {
public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals &) = delete;

private:
  sigset_t before;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_HOST_THREAD_H
