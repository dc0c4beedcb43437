// Steps of devices that run all commands by themselves: they are begun, and asked for their end.
#include "runtime/executor/Step.h"

#include <exception>

namespace epl::runtime {

/// Begins all commands of a step that devices run as a whole, and the copies of its results.
void Step::startWhole(uint32_t worker) {
  Frame::Worker &self = frame.workers[worker];
  self.begin = Frame::Clock::now();
  plan.step()->start(frame.tables, frame.trace.isEnabled(), [this] { return isStopped(); });
  self.isBegun = true;
  for (const Frame::Cursor &cursor : self.cursors)
    fetch(cursor);
}

/// Runs all commands of a step that devices run as a whole, which has one slice; meanwhile the next step
/// prepares. False if the thread shall leave the slice.
bool Step::runWhole(uint32_t worker) {
  Frame::Worker &self = frame.workers[worker];
  try {
    if (!self.isBegun && !isStopped())
      startWhole(worker);
    bool isNextPrepared = false;
    for (Executor::Idling idling; self.isBegun && !isStopped();) {
      uint32_t seen = executor.signal(worker);
      if (plan.step()->isDone()) {
        self.isBegun = false, self.left = 0;
        recordWhole(worker);
        break;
      }
      isNextPrepared = isNextPrepared || executor.prepareNext();
      if (self.seesMoved(plan.collectives().numMoved()))
        idling.since = {};
      if (!executor.poll(worker, seen, idling))
        return false;
    }
  } catch (const std::exception &error) {
    fail(error.what()); // what has begun is cancelled then
  }
  return true;
}

void Step::recordWhole(uint32_t worker) {
  if (!frame.trace.isEnabled())
    return;
  auto at = [&](double seconds) {
    return frame.workers[worker].begin +
           std::chrono::duration_cast<Frame::Clock::duration>(std::chrono::duration<double>(seconds));
  };
  for (const BoundStep::Span &span : plan.step()->times())
    frame.trace.record(worker, {span.part, span.rank, span.command}, index, at(span.begin), at(span.end));
}

/// Ends a step that was stopped, and arguments that are on their way to it.
void Step::cancelWhole(uint32_t worker) {
  if (plan.step() && isStopped())
    plan.step()->cancel();
  frame.workers[worker].isBegun = false;
}

} // namespace epl::runtime
