#include "runtime/executor/Call.h"

#include "runtime/Error.h"

namespace epl::runtime {

std::string Call::describe() const { return "call " + std::to_string(callIndex) + " of " + program; }

void Call::wait() const {
  waitForEnd();
  if (!message.empty())
    throw Error(message);
}

void Call::waitForEnd() const {
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return isDone; });
}

bool Call::waitFor(std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex);
  return ended.wait_for(lock, limit, [&] { return isDone; });
}

bool Call::done() const {
  std::lock_guard lock(mutex);
  return isDone;
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
  isDone = true;
  ended.notify_all();
}

} // namespace epl::runtime
