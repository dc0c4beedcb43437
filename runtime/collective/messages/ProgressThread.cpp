#include "runtime/collective/messages/ProgressThread.h"

#include "runtime/host/Thread.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <unistd.h>
#include <utility>

namespace epl::runtime {

ProgressThread &ProgressThread::shared() {
  static ProgressThread *thread = new ProgressThread;
  return *thread;
}

bool ProgressThread::isForked() const { return getpid() != process; }

void ProgressThread::add(Watched &watched) {
  std::lock_guard lock(mutex);
  all.push_back(&watched);
  if (thread.joinable())
    return;
  process = getpid();
  thread = std::thread([this] { run(); });
  std::atexit([] { shared().stop(); });
}

void ProgressThread::remove(Watched &watched) {
  if (isForked()) // the thread stayed behind, perhaps with the lock
    return;
  std::lock_guard lock(mutex);
  std::erase(all, &watched);
}

/// Before static objects, among them those of transports, are destroyed.
void ProgressThread::stop() {
  if (isForked())
    return;
  {
    std::lock_guard lock(mutex);
    isStopping = true;
  }
  changed.notify_all();
  thread.join();
}

void ProgressThread::wakeUp() {
  {
    std::lock_guard lock(mutex);
  } // now it sleeps, or is awake
  changed.notify_all();
}

bool ProgressThread::isIdle() const { return std::ranges::none_of(all, &Watched::isOpen); }

/// Calls the transports that no worker looks at; whether there is one.
bool ProgressThread::moveAll() {
  bool isAlone = false;
  for (Watched *each : all) {
    if (!each->isOpen() || each->isLookedAt.exchange(false, std::memory_order_relaxed))
      continue;
    isAlone = true;
    try {
      each->transport.progress();
    } catch (const std::exception &) {
      each->hasFailed = true; // who waits for a message meets the error, too
    }
  }
  return isAlone;
}

/// How many messages have moved.
uint64_t ProgressThread::numMoved() const {
  uint64_t sum = 0;
  for (const Watched *each : all)
    sum += each->transport.numMoved();
  return sum;
}

/// How long to sleep. A worker that waits looks once in a millisecond at least: so that the thread knows
/// after two whether one does. If none does, it sleeps as such a worker would (see Executor::poll).
std::chrono::nanoseconds ProgressThread::pause(bool isAlone) {
  constexpr std::chrono::microseconds kRest{2000}, kShortest{20}, kLongest{1000};
  auto now = std::chrono::steady_clock::now();
  if (uint64_t moved = numMoved(); std::exchange(lastMoved, moved) != moved || !isAlone)
    since = now;
  return isAlone ? std::clamp<std::chrono::nanoseconds>((now - since) / 64, kShortest, kLongest) : kRest;
}

/// Messages come and go all the time: so it falls asleep only where there have been none for a while.
void ProgressThread::run() {
  constexpr int kMostIdleRests = 20;
  BlockedSignals blocked;
  pthread_setname_np(pthread_self(), "epl-progress");
  std::unique_lock lock(mutex);
  for (int idle = 0; !isStopping;) {
    idle = isIdle() ? idle + 1 : 0;
    if (idle > kMostIdleRests) {
      isAsleep.store(true, std::memory_order_seq_cst);
      changed.wait(lock, [&] { return isStopping || !isIdle(); });
      isAsleep.store(false, std::memory_order_relaxed);
      idle = 0;
    }
    changed.wait_for(lock, pause(moveAll()));
  }
}

} // namespace epl::runtime
