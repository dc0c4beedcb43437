#include "runtime/device/cpu/Placement.h"

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

void Placement::confine(unsigned index, unsigned count) {
  pid_t self = thread.load(std::memory_order_acquire);
  if (self == 0) // not started
    return;
  std::lock_guard lock(mutex);
  if (isConfined) // and has not begun since
    return;
  before = CpuSet::of(self);
  if (before.size() < count)
    return;
  meanwhile = before.part(index, count);
  if (meanwhile.size() > 1)
    meanwhile.remove(sched_getcpu());
  isConfined = meanwhile.apply(self);
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
