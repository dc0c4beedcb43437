// Steps that tests wait for and stop.
#ifndef EPL_TEST_UNIT_EXECUTOR_TESTSTEP_H
#define EPL_TEST_UNIT_EXECUTOR_TESTSTEP_H

#include "runtime/Error.h"
#include "runtime/executor/Step.h"

namespace epl::runtime::test {

/// A step of a plan without slots, or with memory of these that is there already.
class TestStep : public Step {
public:
  TestStep(const LoadedPlan &plan, Frame &frame, Executor &executor)
      : Step(plan, frame, executor, stopped, 1), executor(executor) {}

  void end() override {
    Step::end();
    ended = true;
    ended.notify_all();
  }
  void stop(const std::string &reason) {
    error = reason;
    stopped = true;
    executor.wakeAll();
  }

  std::atomic<bool> stopped = false, ended = false;
  std::atomic<uint32_t> prepared = 0, collected = 0; // ranks
  std::string error;
  bool lacksArguments = false;

private:
  void prepare(const Frame::Cursor &) override {
    if (lacksArguments)
      throw Error("out of memory");
    ++prepared;
  }
  void collect(const Frame::Cursor &) override { ++collected; }
  void fail(const std::string &reason) override { stop(reason); }

  Executor &executor;
};

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_EXECUTOR_TESTSTEP_H
