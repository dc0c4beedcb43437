// What the threads of the runtime ask of the CPU that they run on. The one place that knows which CPU that
// is.
#ifndef EPL_RUNTIME_HOST_THREAD_H
#define EPL_RUNTIME_HOST_THREAD_H

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

} // namespace epl::runtime

#endif // EPL_RUNTIME_HOST_THREAD_H
