// Where the threads of a job begin to run.
//
// The kernel puts a thread that is woken on a CPU that is idle at that moment. Threads that are woken
// together by one that is about to sleep itself often find none, are queued behind one another, and stay so
// for milliseconds after a CPU has become idle. So whoever wakes them says where they begin: each on CPUs of
// its own. Nothing is pinned: once it runs, a thread may go wherever it might go before.
#ifndef EPL_RUNTIME_HOST_PLACEMENT_H
#define EPL_RUNTIME_HOST_PLACEMENT_H

#include <sched.h>

#include <atomic>
#include <mutex>

namespace epl::runtime {

/// A set of CPUs, by their numbers.
class CpuSet {
public:
  CpuSet() { CPU_ZERO(&set); }

  /// The CPUs on which the kernel lets a thread run (0: the calling one); empty if it does not tell.
  static CpuSet of(pid_t thread);
  /// Lets a thread run on these CPUs only; whether the kernel agreed.
  bool apply(pid_t thread) const { return sched_setaffinity(thread, sizeof set, &set) == 0; }

  unsigned size() const { return unsigned(CPU_COUNT(&set)); }
  bool contains(int cpu) const { return CPU_ISSET(cpu, &set); }
  void add(int cpu) { CPU_SET(cpu, &set); }
  void remove(int cpu) { CPU_CLR(cpu, &set); }
  bool operator==(const CpuSet &other) const { return CPU_EQUAL(&set, &other.set); }

  /// The `index`th of `count` parts, which are disjoint and all but equal in size.
  CpuSet part(unsigned index, unsigned count) const;

private:
  cpu_set_t set;
};

/// Where one thread begins when it is woken.
class Placement {
public:
  /// For the thread: it is the calling one from here on.
  void adopt();

  // For who is about to give the thread work. They do nothing to a thread that was confined before and has
  // not begun since.

  /// It shall begin on its own of `count` parts of the CPUs that it may run on, without the calling thread's
  /// if there are enough others. Does nothing if there are fewer CPUs than parts.
  void confine(unsigned index, unsigned count);
  /// It shall begin on the calling thread's CPU, if it may run there.
  void confineHere();

  /// For the thread, when it has begun: it may run where it might before. A change from outside (taskset)
  /// while it was confined stays.
  void release();

private:
  template <typename Choose> void confine(Choose choose);

  std::atomic<pid_t> thread = 0;
  std::atomic<bool> isConfined = false;
  std::mutex mutex;
  CpuSet before, meanwhile;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_HOST_PLACEMENT_H
