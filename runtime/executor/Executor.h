// The worker threads of this process and the order of their work.
#ifndef EPL_RUNTIME_EXECUTOR_EXECUTOR_H
#define EPL_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/host/Placement.h"
#include "runtime/host/Signal.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace epl::runtime {

/// Runs jobs one after another, in the order of their submission, each in several slices at once. A slice is
/// run by its worker or, as long as that has not begun, by a helper thread: a thread of the program that
/// would only wait otherwise. Both flush denormals to zero. An idle worker sleeps; those that are woken for a
/// job begin on different CPUs.
class Executor {
public:
  /// Work for a gang of workers.
  class Job {
  public:
    virtual ~Job() = default;
    /// How many slices it has, each for one worker: 1 to maxWorkers().
    virtual uint32_t numWorkers() const = 0;
    /// Called once, after the job before has ended and before any slice runs.
    virtual void begin() = 0;
    /// Whether helper threads may run slices; asked once, after begin().
    virtual bool admitsHelpers() const { return false; }
    /// Prepares what it can while the job before runs; false if there is more, so that it shall be asked
    /// again. Not at once with any other function of it, but perhaps not called at all. Must not throw.
    virtual bool prepareAhead() { return true; }
    /// Runs a slice of [0, numWorkers()), at the same time as all others, to its end, or until `idle` says
    /// that the thread shall leave it: then it returns false, and is called again in another thread. Must not
    /// throw.
    virtual bool run(uint32_t worker) = 0;
    /// Called once, after all slices have ended.
    virtual void end() = 0;
  };

  /// `maxWorkers` threads at most, started when a job wants them.
  explicit Executor(uint32_t maxWorkers);
  /// Runs what is queued to its end.
  ~Executor();
  Executor(const Executor &) = delete;

  /// The executor of the process, with one worker for each available core. It is never destroyed.
  static Executor &shared();

  uint32_t maxWorkers() const { return limit; }

  /// Whether this process was forked off the one that made the executor: its workers did not come along, so
  /// that nothing queued here ever ends.
  bool isForked() const;

  /// Queues a job and returns, after awaitRoom. Throws Error as that does. `joins`: the calling thread will
  /// call `help` at once; if it can, it is left a slice, for which no worker is woken.
  void submit(std::shared_ptr<Job> job, bool joins = false);

  /// For a thread that has nothing else to do: runs the slice of the running job that was left to a helper
  /// thread. A slice whose worker is awake, or about to be, is better left to that: a helper thread would
  /// only be one thread more than there are cores. False if there was none, or if its worker has to go on
  /// with it.
  bool help();

  /// Waits while so many jobs are queued that another one would have to wait. Throws Error in a forked
  /// process.
  void awaitRoom();

  /// To be called by who waits for something that is about to come, with a count that starts at 0 and grows:
  /// gives it a moment without a call of the system, then lets other threads have the core. False, at once,
  /// when it has been long enough.
  static bool linger(int count);

  // For running jobs. To wait for something without missing it, who runs a slice takes its `signal`, looks
  // for the thing, and sleeps with the signal that it took; whoever makes the thing true wakes the slice
  // afterwards.
  uint32_t signal(uint32_t worker) const { return workers[worker].slice.signal.get(); }
  void sleep(uint32_t worker, uint32_t seen) const { workers[worker].slice.signal.wait(seen); }
  /// How long a slice has found nothing to do: from new, if it has just found something.
  struct Idling {
    int count = 0;                                 // of its looks
    std::chrono::steady_clock::time_point since{}; // only while it polls
  };
  /// To be called again and again by a slice that finds nothing to do: comes back at once at first, lets
  /// other threads have the core then, and sleeps in the end. A helper thread does not sleep, where nothing
  /// else could reach it: false says that it shall leave the slice.
  bool idle(uint32_t worker, uint32_t seen, Idling &idling);
  /// The same for a slice that also looks for something which nobody wakes it for: a worker sleeps for short
  /// times only, and not before it has looked for a millisecond.
  bool poll(uint32_t worker, uint32_t seen, Idling &idling);
  /// For a job of one slice that waits for its devices: lets the job behind it prepare what it can. Whether
  /// that is done, so that nobody need call again while the job runs.
  bool prepareNext();
  void wake(uint32_t worker) { workers[worker].slice.signal.raise(); }
  void wakeAll();
  /// The same for a slice that looks in `idle` or `poll`, cheap if it is not about to sleep: needs that what
  /// it looks for was stored, and is loaded there, with memory_order_seq_cst.
  void wakeSleeper(uint32_t worker) {
    if (workers[worker].slice.sleepy.load(std::memory_order_seq_cst))
      wake(worker);
  }

private:
  // A caller that never waits must not queue arguments without end.
  static constexpr size_t kMaxQueued = 16;

  /// What one thread at a time sleeps on.
  struct alignas(64) Bell {
    Signal signal;
    std::atomic<bool> sleepy = false; // asleep, or having a last look before that

    bool linger(Idling &idling);
    bool fallAsleep();
    void idle(uint32_t seen, Idling &idling);
    void poll(uint32_t seen, Idling &idling);
  };
  struct alignas(64) Worker {
    Bell slice;                       // of whoever runs the worker's slice
    Bell bell;                        // of the worker itself, for its next slice
    std::atomic<Job *> job = nullptr; // whose slice nobody has begun, or a helper thread has left
    bool hasHelper = false;           // for whoever runs the slice
    std::atomic<int> cpu = -1;        // where it was seen last
    Placement placement;
    std::thread thread;
  };

  std::unique_lock<std::mutex> lockRoom();
  void work(uint32_t worker);
  Job *awaitJob(uint32_t worker);
  void startNext(std::unique_lock<std::mutex> lock, bool joins = false);
  bool mayMeet(uint32_t first, uint32_t count) const;
  void spread(uint32_t first, uint32_t count);
  bool runAsHelper(uint32_t worker, Job *job);
  void endSlice(Job *job);

  const uint32_t limit;
  const int process;
  std::unique_ptr<Worker[]> workers;
  std::atomic<bool> stopping = false;
  std::atomic<uint32_t> active = 0;    // slices of the running job that have not ended
  std::atomic<bool> isOffered = false; // slice 0 of the running job, to a helper thread

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> queue; // the running job first
  uint32_t started = 0;                   // workers that have a thread
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_EXECUTOR_H
