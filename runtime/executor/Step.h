// One run of a plan over all devices.
#ifndef EPL_RUNTIME_EXECUTOR_STEP_H
#define EPL_RUNTIME_EXECUTOR_STEP_H

#include "runtime/executor/Frame.h"
#include "runtime/executor/State.h"

namespace epl::runtime {

/// What a step finds in a slot of the plan: either per-rank storage or a tensor of the host. The call holds
/// the owners of the caller's tensors.
struct Binding {
  std::shared_ptr<Storage> storage;
  std::shared_ptr<Storage> source; // copied to `storage` before the commands run
  HostTensor host;
};

/// A queued or running step. Each slice runs in three phases: prepare (addresses, copies of arguments),
/// commands, collect (copies of results).
class Step : public Executor::Job {
public:
  /// `bindings` has one for each slot of the plan; those of results that update a state are empty.
  Step(const LoadedPlan &plan, Frame &frame, Executor &executor, std::shared_ptr<Call> call,
       std::vector<Binding> bindings)
      : plan(plan), frame(frame), executor(executor), call(std::move(call)), bindings(std::move(bindings)) {}

  uint32_t numWorkers() const override { return frame.numWorkers(); }
  void begin() override;
  /// Helper threads are for short steps: while a thread runs a command, it does not see Ctrl-C.
  bool admitsHelpers() const override { return frame.lastDuration < kLongestWithHelpers; }
  bool run(uint32_t worker) override;
  void end() override;

private:
  static constexpr std::chrono::milliseconds kLongestWithHelpers{20};

  void prepare(uint32_t worker);
  const Binding &bindingOf(const Frame::Cursor &cursor, uint32_t slot) const;
  void prepareRank(const Frame::Cursor &cursor);
  std::byte *address(const Frame::Cursor &cursor, uint32_t slot) const;
  bool awaitPrepared(uint32_t worker);
  bool runCommands(uint32_t worker);
  bool sweep(uint32_t worker, size_t &left);
  Frame::Lane *nextLane(Frame::Cursor &cursor) const;
  bool isReady(const Frame::Cursor &cursor, Frame::Lane &lane) const;
  bool othersAreReady(const Frame::Cursor &cursor, Frame::Lane &lane) const;
  bool isSent(const Frame::Cursor &cursor, uint32_t channel, uint32_t &seen) const;
  void runCommand(uint32_t worker, const Frame::Cursor &cursor, uint32_t command);
  void announce(uint32_t worker, const Frame::Cursor &cursor, uint32_t command);
  void announceSent(uint32_t worker, const Frame::Cursor &cursor, uint32_t channel);
  void collect(const Frame::Cursor &cursor);

  const LoadedPlan &plan;
  Frame &frame;
  Executor &executor;
  std::shared_ptr<Call> call;
  std::vector<Binding> bindings;
  std::atomic<uint32_t> prepared = 0; // slices
  Frame::Clock::time_point began;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_STEP_H
