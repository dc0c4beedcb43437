// The handle of one queued step.
#ifndef EPL_RUNTIME_SESSION_CALL_H
#define EPL_RUNTIME_SESSION_CALL_H

#include "runtime/executor/Executor.h"

#include <cassert>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace epl::runtime {

/// One call of a program: it ends when its step has ended, well or not. The first error wins.
class Call {
public:
  Call(Executor &executor, uint64_t index, std::string name)
      : executor(executor), callIndex(index), program(std::move(name)) {}

  /// The number of the call among those of its session, from 1.
  uint64_t index() const { return callIndex; }
  bool runsOn(const Executor &other) const { return &executor == &other; }
  /// "call 3 of train_step"
  std::string describe() const;

  // Who waits runs the slice of the step that was left to it, if it called the step in order to wait.

  /// Waits for the end; throws Error if the step failed.
  void wait() const;
  /// Waits for the end, well or not. Throws Error, as all that waits, where it would never come: in a process
  /// that was forked while the step ran.
  void waitForEnd() const;
  /// Waits for the end, well or not; whether it has come. Gives up after `limit`, unless a slice of the step
  /// takes longer.
  bool waitFor(std::chrono::milliseconds limit) const;
  bool done() const { return isDone.load(std::memory_order_acquire); }
  /// Why the call failed; empty if it has not (yet).
  std::string error() const;

  /// Ends a call that has not ended as failed: no further command is started, the state that it writes is
  /// poisoned.
  void cancel(const std::string &reason);

  /// Keeps what the step reads of the caller's, until the end of the call is seen in a thread of the caller:
  /// it may be objects that only those may touch.
  void hold(std::vector<std::shared_ptr<const void>> arguments) { held = std::move(arguments); }
  /// Lets go of that, in the calling thread. Only after the end.
  void release() {
    assert(done() && "a step that runs reads what the call holds");
    auto dropped = std::exchange(held, {});
  }

  /// For the step: records the first error, which sets `stop`.
  void fail(const std::string &reason);
  const std::atomic<bool> &stop() const { return failing; }
  /// Takes no error from here on; gives the one there is.
  std::string seal();
  void finish();

private:
  void checkProcess() const;
  void runSlices() const;

  Executor &executor;
  const uint64_t callIndex;
  const std::string program;
  mutable std::mutex mutex;
  mutable std::condition_variable ended;
  bool isSealed = false;
  std::atomic<bool> isDone = false;
  std::string message;
  std::vector<std::shared_ptr<const void>> held;
  std::atomic<bool> failing = false;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_CALL_H
