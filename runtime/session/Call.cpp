#include "runtime/session/Call.h"

#include "runtime/Error.h"

namespace epl::runtime {

std::string Call::describe() const { return "call " + std::to_string(callIndex) + " of " + program; }

void Call::wait() const {
  waitForEnd();
  if (!message.empty())
    throw Error(message);
}

/// Before any lock, which a worker may have held when the process was forked.
void Call::checkProcess() const {
  if (!done() && executor.isForked())
    throw Error("the process was forked while " + describe() +
                " ran, and its devices stayed behind: start a new one instead (spawn, not fork)");
}

/// Before the wait itself; throws as that does.
void Call::runSlices() const {
  checkProcess();
  bool helped = false;
  while (!done() && executor.help())
    helped = true;
  if (helped) // the other slices are about to end, too
    for (int count = 0; !done() && Executor::linger(count); ++count) {
    }
}

void Call::waitForEnd() const {
  runSlices();
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return done(); });
}

bool Call::waitFor(std::chrono::milliseconds limit) const {
  runSlices();
  std::unique_lock lock(mutex);
  return ended.wait_for(lock, limit, [&] { return done(); });
}

std::string Call::error() const {
  std::lock_guard lock(mutex);
  return message;
}

void Call::cancel(const std::string &reason) {
  fail(reason);
  executor.wakeAll();
}

void Call::fail(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (isSealed || !message.empty())
    return;
  message = describe() + " failed: " + reason;
  failing.store(true, std::memory_order_release);
}

std::string Call::seal() {
  std::lock_guard lock(mutex);
  isSealed = true;
  return message;
}

void Call::finish() {
  std::lock_guard lock(mutex);
  isDone.store(true, std::memory_order_release);
  ended.notify_all();
}

} // namespace epl::runtime
