// A thread that calls something again and again.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_TICKER_H
#define EPL_RUNTIME_SERVERS_DRIVE_TICKER_H

#include "runtime/servers/logic/Timing.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace epl::runtime::servers {

/// Calls a function in a thread of its own, at once and then after each period, until it is destroyed.
class Ticker {
public:
  Ticker(Milliseconds period, std::function<void()> function)
      : function(std::move(function)), thread([this, period] { run(std::chrono::milliseconds(period)); }) {}
  /// Waits for a call that runs. Not in the function itself.
  ~Ticker() {
    {
      std::scoped_lock lock(mutex);
      stopping = true;
    }
    stopped.notify_all();
    thread.join();
  }
  Ticker(const Ticker &) = delete;

  /// The time now, on a clock that does not go back.
  static Milliseconds now() {
    auto time = std::chrono::steady_clock::now().time_since_epoch();
    return Milliseconds(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  }

private:
  void run(std::chrono::milliseconds period) {
    std::unique_lock lock(mutex);
    do {
      lock.unlock();
      function();
      lock.lock();
    } while (!stopped.wait_for(lock, period, [&] { return stopping; }));
  }

  std::function<void()> function;
  std::mutex mutex;
  std::condition_variable stopped;
  bool stopping = false;
  std::thread thread; // the last member: it uses the others
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_TICKER_H
