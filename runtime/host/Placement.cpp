#include "runtime/host/Placement.h"

#include <unistd.h>

namespace epl::runtime {

CpuSet CpuSet::of(pid_t thread) {
  CpuSet result;
  if (sched_getaffinity(thread, sizeof result.set, &result.set) != 0)
    CPU_ZERO(&result.set);
  return result;
}

CpuSet CpuSet::part(unsigned index, unsigned count) const {
  CpuSet result;
  for (unsigned cpu = 0, position = 0; cpu < CPU_SETSIZE; ++cpu)
    if (contains(int(cpu)) && position++ * count / size() == index)
      result.add(int(cpu));
  return result;
}

void Placement::adopt() { thread.store(gettid(), std::memory_order_release); }

/// Confines the thread to what is chosen of the CPUs that it may run on; empty is nothing.
template <typename Choose> void Placement::confine(Choose choose) {
  pid_t self = thread.load(std::memory_order_acquire);
  if (self == 0) // not started
    return;
  std::lock_guard lock(mutex);
  if (isConfined)
    return;
  before = CpuSet::of(self);
  meanwhile = choose(before);
  isConfined = meanwhile.size() != 0 && meanwhile.apply(self);
}

void Placement::confine(unsigned index, unsigned count) {
  confine([=](CpuSet cpus) {
    if (cpus.size() > count)
      cpus.remove(sched_getcpu());
    return cpus.size() < count ? CpuSet() : cpus.part(index, count);
  });
}

void Placement::confineHere() {
  confine([cpu = sched_getcpu()](const CpuSet &cpus) {
    CpuSet here;
    if (cpus.contains(cpu))
      here.add(cpu);
    return here;
  });
}

void Placement::release() {
  if (!isConfined.load(std::memory_order_acquire))
    return;
  std::lock_guard lock(mutex);
  if (CpuSet::of(0) == meanwhile)
    before.apply(0);
  isConfined = false;
}

} // namespace epl::runtime
