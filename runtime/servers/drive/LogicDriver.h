// What runs a state machine of `logic`: one lock guards it and all that its actions are done with. Threads of
// the transport and a ticker tell it what has happened, and do what it wants.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_LOGICDRIVER_H
#define EPL_RUNTIME_SERVERS_DRIVE_LOGICDRIVER_H

#include "runtime/Error.h"
#include "runtime/servers/drive/Streams.h"
#include "runtime/servers/drive/Ticker.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace epl::runtime::servers {

class LogicDriver : public StreamUser {
protected:
  LogicDriver() : streams(*this) {}

  /// Lets the logic look at the time, again and again. The last thing that a constructor does.
  void startTicking(const Timing &timing) {
    ticker = std::make_unique<Ticker>(timing.heartbeat / 5 + 1, [this] {
      streams.sweep();
      std::scoped_lock lock(mutex);
      look();
      changed.notify_all();
    });
  }
  /// The first thing that a destructor does.
  void stopTicking() { ticker = nullptr; }
  /// Tells the logic how late it is, and does what it wants; locked.
  virtual void look() = 0;

  std::mutex mutex;
  std::condition_variable changed;
  Streams streams;

private:
  std::unique_ptr<Ticker> ticker;
};

/// One that opens streams, and whose caller waits for what they bring.
class CallerDriver : public LogicDriver {
protected:
  /// `whileWaiting` is called again and again by who waits; what it throws ends the wait.
  CallerDriver(std::shared_ptr<StreamTransport> transport, const StreamOptions &streamOptions,
               const Timing &timing, std::function<void()> whileWaiting)
      : transport(std::move(transport)), streamOptions(impatient(streamOptions, timing)),
        whileWaiting(std::move(whileWaiting)) {}

  /// `also` is called as `whileWaiting` is, in this wait.
  template <typename Condition>
  void await(
      std::unique_lock<std::mutex> &lock, const Condition &condition,
      const std::function<void()> &also = [] {}) {
    constexpr std::chrono::milliseconds look{20}; // between looks of who waits
    while (!changed.wait_for(lock, look, [&] { return condition() || !failure().empty(); })) {
      lock.unlock();
      whileWaiting();
      also();
      lock.lock();
    }
    if (!failure().empty())
      throw Error(failure());
  }
  /// What has ended the logic; empty if nothing has. Locked.
  virtual const std::string &failure() const = 0;

  /// Opens a stream; `refused` is told of settings that do not fit.
  template <typename Refused> void open(uint64_t stream, const std::string &address, const Refused &refused) {
    try {
      streams.add(stream, transport->connect(address, streams.readerOf(stream), streamOptions));
    } catch (const Error &error) {
      refused(error.what());
    }
  }

private:
  std::shared_ptr<StreamTransport> transport;
  const StreamOptions streamOptions;
  const std::function<void()> whileWaiting;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_LOGICDRIVER_H
