#include "runtime/executor/Executor.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Features.h"

#include <algorithm>
#include <csignal>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace epl::runtime {

/// Workers leave signals to the threads of the program, where an interrupted call may be what a handler
/// wants, but for those that a fault of their own raises.
static void blockSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    sigdelset(&signals, fault);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

/// Denormals are flushed as the one-device programs of the front ends do.
static void flushDenormals() {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
}

Executor::Executor(uint32_t maxWorkers)
    : limit(std::max(1u, maxWorkers)), process(getpid()), workers(new Worker[limit]) {}

Executor::~Executor() {
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return queue.empty(); });
  }
  stopping.store(true, std::memory_order_release);
  wakeAll();
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

void Executor::submit(std::shared_ptr<Job> job) {
  std::unique_lock lock = lockRoom();
  for (; started < job->numWorkers(); ++started)
    workers[started].thread = std::thread([this, worker = started] { work(worker); });
  queue.push_back(std::move(job));
  if (queue.size() == 1)
    startNext(std::move(lock));
}

void Executor::awaitRoom() { lockRoom(); }

/// Starts the first job of the queue. The lock is given up: nobody else starts or ends a job meanwhile.
void Executor::startNext(std::unique_lock<std::mutex> lock) {
  Job *job = queue.front().get();
  lock.unlock();
  job->begin();
  uint32_t count = job->numWorkers();
  active.store(count, std::memory_order_relaxed);
  spread(count);
  for (uint32_t worker = 0; worker < count; ++worker) {
    workers[worker].job.store(job, std::memory_order_release);
    wake(worker);
  }
}

/// Lets the workers of a job that sleep begin on CPUs of their own. One that sleeps alone does so anyway.
void Executor::spread(uint32_t count) {
  auto sleeps = [](const Worker &worker) { return worker.sleepy.load(std::memory_order_relaxed); };
  if (std::count_if(&workers[0], &workers[count], sleeps) < 2)
    return;
  for (uint32_t worker = 0; worker < count; ++worker)
    if (sleeps(workers[worker]))
      workers[worker].placement.confine(worker, count);
}

void Executor::idle(uint32_t worker, uint32_t seen, int &count) {
  // A peer that is about to finish is met while spinning, without a call of the system. Spinning on would
  // take the core from a peer that has none.
  constexpr int kSpins = 200, kYields = 100;
  std::atomic<bool> &sleepy = workers[worker].sleepy;
  if (count == 0 && sleepy.load(std::memory_order_relaxed))
    sleepy.store(false, std::memory_order_relaxed);
  if (count < kSpins)
    __builtin_ia32_pause();
  else if (count < kSpins + kYields)
    sched_yield();
  else if (count == kSpins + kYields)
    sleepy.store(true, std::memory_order_seq_cst); // and the caller looks once more
  else
    sleep(worker, seen);
  ++count;
}

void Executor::wake(uint32_t worker) {
  workers[worker].signal.fetch_add(1, std::memory_order_release);
  workers[worker].signal.notify_one();
}

void Executor::wakeAll() {
  for (uint32_t worker = 0; worker < limit; ++worker)
    wake(worker);
}

/// The worker's next job, or null when the executor stops.
Executor::Job *Executor::awaitJob(uint32_t worker) {
  for (int idling = 0;;) {
    uint32_t seen = signal(worker);
    if (Job *job = workers[worker].job.exchange(nullptr, std::memory_order_acquire)) {
      workers[worker].sleepy.store(false, std::memory_order_relaxed);
      workers[worker].placement.release();
      return job;
    }
    if (stopping.load(std::memory_order_acquire))
      return nullptr;
    idle(worker, seen, idling);
  }
}

void Executor::work(uint32_t worker) {
  blockSignals();
  flushDenormals();
  workers[worker].placement.adopt();
  pthread_setname_np(pthread_self(), ("epl-" + std::to_string(worker)).c_str());
  while (Job *job = awaitJob(worker)) {
    job->run(worker);
    if (active.fetch_sub(1, std::memory_order_acq_rel) != 1)
      continue;
    job->end();
    std::shared_ptr<Job> last; // destroyed when the lock is free
    std::unique_lock lock(mutex);
    last = std::move(queue.front());
    queue.pop_front();
    changed.notify_all();
    if (!queue.empty())
      startNext(std::move(lock));
  }
}

} // namespace epl::runtime
