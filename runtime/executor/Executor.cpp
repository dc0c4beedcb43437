// Who runs a slice. A slice that runs is in the hands of one thread; one that does not is in its worker's
// mailbox, and whoever takes it out, by one exchange, has it. Jobs whose slices wait for each other come to
// their end because no slice stays in a mailbox: its worker is woken after it was put there, and sleeps with
// nothing but an empty mailbox; the one slice whose worker is not woken is left to a thread that is about to
// look for it. A helper thread never sleeps while it has a slice: it puts it back and wakes the worker.
#include "runtime/executor/Executor.h"

#include "runtime/Error.h"
#include "runtime/host/Thread.h"

#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace epl::runtime {

Executor::Executor(uint32_t maxWorkers)
    : limit(std::max(1u, maxWorkers)), process(getpid()), workers(new Worker[limit]) {}

Executor::~Executor() {
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return queue.empty(); });
  }
  stopping.store(true, std::memory_order_release);
  for (uint32_t worker = 0; worker < started; ++worker)
    workers[worker].bell.signal.raise();
  for (uint32_t worker = 0; worker < started; ++worker)
    workers[worker].thread.join();
}

Executor &Executor::shared() {
  // Never destroyed: at the end of the process a worker may still be asleep in it.
  static Executor *executor = new Executor(availableCores());
  return *executor;
}

bool Executor::isForked() const { return getpid() != process; }

/// The lock of the queue, once there is room in it.
std::unique_lock<std::mutex> Executor::lockRoom() {
  if (isForked())
    throw Error("the process was forked after its first step: start a new one instead (spawn, not fork)");
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return queue.size() < kMaxQueued; });
  return lock;
}

void Executor::submit(std::shared_ptr<Job> job, bool joins) {
  std::unique_lock lock = lockRoom();
  for (; started < job->numWorkers(); ++started)
    workers[started].thread = std::thread([this, worker = started] { work(worker); });
  queue.push_back(std::move(job));
  if (queue.size() == 1)
    startNext(std::move(lock), joins);
}

void Executor::awaitRoom() { lockRoom(); }

/// Starts the first job of the queue. The lock is given up: nobody else starts or ends a job meanwhile.
void Executor::startNext(std::unique_lock<std::mutex> lock, bool joins) {
  Job *job = queue.front().get();
  lock.unlock();
  job->begin();
  uint32_t count = job->numWorkers();
  uint32_t first = joins && job->admitsHelpers() ? 1 : 0; // slice to wake a worker for
  active.store(count, std::memory_order_relaxed);
  spread(first, count);
  for (uint32_t worker = 0; worker < count; ++worker) {
    workers[worker].job.store(job, std::memory_order_release);
    if (worker >= first)
      workers[worker].bell.signal.raise();
  }
  if (first != 0)
    isOffered.store(true, std::memory_order_release);
}

/// Whether workers in [first, count) may begin where another runs: several that sleep, or one that ran last
/// where another did or where the calling thread goes on, as it does if `first` is not 0.
bool Executor::mayMeet(uint32_t first, uint32_t count) const {
  CpuSet taken;
  if (first != 0)
    taken.add(sched_getcpu());
  uint32_t asleep = 0;
  for (uint32_t worker = first; worker < count; ++worker) {
    int cpu = workers[worker].cpu.load(std::memory_order_relaxed);
    if (taken.contains(cpu))
      return true;
    taken.add(cpu);
    asleep += workers[worker].bell.sleepy.load(std::memory_order_relaxed);
  }
  return asleep > 1;
}

/// Lets the workers in [first, count) begin on CPUs of their own.
void Executor::spread(uint32_t first, uint32_t count) {
  if (mayMeet(first, count))
    for (uint32_t worker = first; worker < count; ++worker)
      workers[worker].placement.confine(worker - first, count - first);
}

bool Executor::help() {
  if (!isOffered.load(std::memory_order_relaxed) || !isOffered.exchange(false, std::memory_order_acquire))
    return false;
  Job *job = workers[0].job.exchange(nullptr, std::memory_order_acquire);
  return job && runAsHelper(0, job); // else its worker was awake
}

/// Runs a slice in the calling thread; whether it came to its end there.
bool Executor::runAsHelper(uint32_t worker, Job *job) {
  Worker &host = workers[worker];
  BlockedSignals blocked;
  ArithmeticMode mode;
  host.hasHelper = true;
  bool ended = job->run(worker);
  host.hasHelper = false;
  if (ended) {
    endSlice(job);
  } else {
    if (host.bell.sleepy.load(std::memory_order_relaxed))
      host.placement.confineHere(); // the helper thread is about to sleep
    host.job.store(job, std::memory_order_release);
    host.bell.signal.raise();
  }
  return ended;
}

bool Executor::linger(int count) {
  constexpr int kSpins = 200, kYields = 100;
  if (count < kSpins)
    pauseCore();
  else if (count < kSpins + kYields)
    sched_yield(); // spinning on would take the core from a peer that has none
  else
    return false;
  return true;
}

/// Whether it is too early to sleep.
bool Executor::Bell::linger(Idling &idling) {
  if (idling.count == 0 && sleepy.load(std::memory_order_relaxed))
    sleepy.store(false, std::memory_order_relaxed);
  if (!Executor::linger(idling.count))
    return false;
  ++idling.count;
  return true;
}

/// Whether the caller has looked once more since it said that it would sleep.
bool Executor::Bell::fallAsleep() {
  if (sleepy.load(std::memory_order_relaxed))
    return true;
  sleepy.store(true, std::memory_order_seq_cst);
  return false;
}

void Executor::Bell::idle(uint32_t seen, Idling &idling) {
  if (!linger(idling) && fallAsleep())
    signal.wait(seen);
}

/// Each sleep is a small part of the time that the slice has waited already: so what it looks for is found
/// later by that part at most, and the longer it waits the less it costs.
void Executor::Bell::poll(uint32_t seen, Idling &idling) {
  constexpr std::chrono::milliseconds kAwake{1}, kLongestSleep{1};
  if (linger(idling))
    return;
  auto now = std::chrono::steady_clock::now();
  if (idling.since == decltype(now)())
    idling.since = now;
  auto waited = now - idling.since;
  if (waited < kAwake)
    sched_yield();
  else if (fallAsleep())
    signal.waitFor(seen, std::min<std::chrono::nanoseconds>(waited / 64, kLongestSleep));
}

bool Executor::idle(uint32_t worker, uint32_t seen, Idling &idling) {
  if (!workers[worker].hasHelper)
    workers[worker].slice.idle(seen, idling);
  else if (!linger(idling.count++))
    return false;
  return true;
}

bool Executor::poll(uint32_t worker, uint32_t seen, Idling &idling) {
  if (!workers[worker].hasHelper)
    workers[worker].slice.poll(seen, idling);
  else if (!linger(idling.count++))
    return false;
  return true;
}

/// The next job begins behind the running one, whose only slice asks: nothing else calls it meanwhile.
bool Executor::prepareNext() {
  std::shared_ptr<Job> next;
  {
    std::lock_guard lock(mutex);
    if (queue.size() < 2)
      return false;
    next = queue[1];
  }
  return next->prepareAhead();
}

void Executor::wakeAll() {
  for (uint32_t worker = 0; worker < limit; ++worker)
    wake(worker);
}

/// The job whose slice the worker runs next, or null when the executor stops.
Executor::Job *Executor::awaitJob(uint32_t worker) {
  Worker &self = workers[worker];
  for (Idling idling;;) {
    self.cpu.store(sched_getcpu(), std::memory_order_relaxed);
    uint32_t seen = self.bell.signal.get();
    if (Job *job = self.job.exchange(nullptr, std::memory_order_acquire)) {
      self.bell.sleepy.store(false, std::memory_order_relaxed);
      self.placement.release();
      return job;
    }
    if (stopping.load(std::memory_order_acquire))
      return nullptr;
    self.bell.idle(seen, idling);
  }
}

void Executor::work(uint32_t worker) {
  BlockedSignals blocked; // an interrupted call of the program may be what a handler wants
  ArithmeticMode mode;
  workers[worker].placement.adopt();
  pthread_setname_np(pthread_self(), ("epl-" + std::to_string(worker)).c_str());
  while (Job *job = awaitJob(worker)) {
    job->run(worker); // to its end
    endSlice(job);
  }
}

/// The last slice to end ends its job and starts the next one.
void Executor::endSlice(Job *job) {
  if (active.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  job->end();
  std::shared_ptr<Job> last; // destroyed when the lock is free
  std::unique_lock lock(mutex);
  last = std::move(queue.front());
  queue.pop_front();
  changed.notify_all();
  if (!queue.empty())
    startNext(std::move(lock));
}

} // namespace epl::runtime
