// One run of a plan over all devices.
#ifndef EPL_RUNTIME_EXECUTOR_STEP_H
#define EPL_RUNTIME_EXECUTOR_STEP_H

#include "runtime/executor/Executor.h"
#include "runtime/executor/Frame.h"

#include <cassert>
#include <optional>

namespace epl::runtime {

/// A queued or running step. Each slice runs in three phases: prepare (memory of the slots), commands,
/// collect (results). What slots hold is the derived class's matter.
class Step : public Executor::Job {
public:
  /// `index` numbers the step for the trace. Once `stopped` is set, and the executor's workers are woken, no
  /// further command is started; it outlives the step.
  Step(const LoadedPlan &plan, Frame &frame, Executor &executor, const std::atomic<bool> &stopped,
       uint64_t index)
      : plan(plan), frame(frame), executor(executor), stopped(stopped), index(index) {}

  uint32_t numWorkers() const override { return frame.numWorkers(); }
  void begin() override;
  /// Helper threads are for short steps: while a thread runs a command, it does not see Ctrl-C.
  bool admitsHelpers() const override { return frame.lastDuration < kLongestWithHelpers; }
  bool run(uint32_t worker) override;
  void end() override;

protected:
  // Each is called by the thread that runs a slice, most for a rank of it. An exception of `prepare`,
  // `exchange` and `fetch` ends the step.

  /// Fills the slots that are arguments, and sets the addresses of all slots.
  virtual void prepare(const Frame::Cursor &cursor) = 0;
  /// Whether the arguments are there, without which a rank cannot be prepared; asked again and again before
  /// that.
  virtual bool haveArgumentsCome() { return true; }
  /// Does a pull or a push of a rank, once all that it waits for is done; asked again while it is pending.
  /// Whoever makes it complete wakes the executor's workers.
  virtual CommandState exchange(const Frame::Cursor &, uint32_t) {
    assert(false && "only who gives what is outside runs such commands");
    return CommandState::done;
  }
  /// Begins to take the results, behind commands that have begun; for devices that run a step as a whole.
  virtual void fetch(const Frame::Cursor &) {}
  /// Takes the results, after all commands of the rank and its neighbours in the slice; not if the step was
  /// stopped.
  virtual void collect(const Frame::Cursor &cursor) = 0;
  /// Whether results that come from elsewhere are there; asked again and again after `collect`.
  virtual bool haveResultsCome() { return true; }
  /// Asked again and again while a command is pending: for what ends the step otherwise.
  virtual void lookAtOthers() {}
  /// A command has failed: sets `stopped` and wakes the executor's workers.
  virtual void fail(const std::string &reason) = 0;
  /// Whether all commands have run; at the end.
  bool isWhole() const;

private:
  static constexpr std::chrono::milliseconds kLongestWithHelpers{20};

  bool isStopped() const { return stopped.load(std::memory_order_acquire); }
  bool runPhases(uint32_t worker);
  void attempt(const Frame::Cursor &cursor, void (Step::*phase)(const Frame::Cursor &), const char *what);
  void prepareSlice(uint32_t worker);
  bool awaitPrepared(uint32_t worker);
  bool runCommands(uint32_t worker);
  void startWhole(uint32_t worker);
  bool runWhole(uint32_t worker);
  void recordWhole(uint32_t worker);
  void collectSlice(uint32_t worker);
  bool await(uint32_t worker, bool (Step::*isThere)(), const char *what);
  bool rest(uint32_t worker, uint32_t seen, Executor::Idling &idling);
  bool sweep(uint32_t worker);
  Frame::Lane *nextLane(Frame::Cursor &cursor) const;
  bool isReady(const Frame::Cursor &cursor, Frame::Lane &lane) const;
  bool othersAreReady(const Frame::Cursor &cursor, Frame::Lane &lane) const;
  bool isSent(const Frame::Cursor &cursor, Program::Message message, uint32_t &seen) const;
  bool hasRoom(const Frame::Cursor &cursor, Program::Message message, uint32_t &seen) const;
  bool haveRun(std::span<const uint32_t> others, PartCommand command, uint32_t &seen) const;
  CommandContext contextOf(uint32_t worker, const Frame::Cursor &cursor) const;
  std::optional<CommandState> run(uint32_t worker, const Frame::Cursor &cursor, uint32_t command,
                                  bool isPending);
  bool start(uint32_t worker, Frame::Cursor &cursor, Frame::Lane &lane);
  bool proceed(uint32_t worker, const Frame::Pending &pending);
  bool proceedAll(uint32_t worker);
  void cancelAll(uint32_t worker);
  void cancelWhole(uint32_t worker);
  void record(uint32_t worker, const Frame::Cursor &cursor, uint32_t command, CommandState state,
              Frame::Clock::time_point begin);
  void complete(uint32_t worker, const Frame::Cursor &cursor, Frame::Lane &lane);
  void reportError(const Frame::Cursor &cursor, uint32_t command, const char *reason);
  void announce(uint32_t worker, const Frame::Cursor &cursor, uint32_t command);
  void wakeRanks(uint32_t worker, uint32_t part, std::span<const uint32_t> ranks);

  const LoadedPlan &plan;
  Frame &frame;
  Executor &executor;
  const std::atomic<bool> &stopped;
  const uint64_t index;
  std::atomic<uint32_t> prepared = 0; // slices
  Frame::Clock::time_point began;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_STEP_H
