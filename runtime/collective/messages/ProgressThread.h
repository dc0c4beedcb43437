// The thread that moves messages while all others compute.
#ifndef EPL_RUNTIME_COLLECTIVE_MESSAGES_PROGRESSTHREAD_H
#define EPL_RUNTIME_COLLECTIVE_MESSAGES_PROGRESSTHREAD_H

#include "runtime/collective/Transport.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace epl::runtime {

/// One thread of the process. A large message moves only while both sides call their transport, which a
/// worker does between its commands: this thread does so while commands take long. It leaves a transport to
/// workers that look, sleeps between its own looks, and sleeps until it is woken where nothing is open.
class ProgressThread {
public:
  /// A transport, and whether a worker has looked since the thread last did.
  struct Watched {
    Transport &transport;
    std::atomic<bool> isLookedAt = false;
    bool hasFailed = false; // then it is left to workers

    bool isOpen() const { return !hasFailed && !transport.isIdle(); }
  };

  /// That of the process, which is never destroyed.
  static ProgressThread &shared();

  /// Begins to watch; the first call starts the thread. It ends with the process, before what the transports
  /// use does.
  void add(Watched &watched);
  /// Waits until the thread does not call the transport.
  void remove(Watched &watched);
  /// After a message was opened.
  void wake() {
    if (isAsleep.load(std::memory_order_seq_cst))
      wakeUp();
  }

private:
  void run();
  void stop();
  void wakeUp();
  bool isIdle() const;
  bool moveAll();
  uint64_t numMoved() const;
  std::chrono::nanoseconds pause(bool isAlone);
  bool isForked() const;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Watched *> all;
  bool isStopping = false;
  std::atomic<bool> isAsleep = false;
  std::thread thread;
  uint64_t lastMoved = 0;
  std::chrono::steady_clock::time_point since{}; // when a message has moved, or a worker has looked
  int process = 0;                               // in which the thread is
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MESSAGES_PROGRESSTHREAD_H
