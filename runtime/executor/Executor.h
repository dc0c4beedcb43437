// The worker threads of this process and the order of their work.
#ifndef EPL_RUNTIME_EXECUTOR_EXECUTOR_H
#define EPL_RUNTIME_EXECUTOR_EXECUTOR_H

#include "runtime/device/cpu/Placement.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace epl::runtime {

/// Runs jobs one after another, in the order of their submission, each on several workers at once. Workers
/// flush denormals to zero. An idle worker sleeps; those that are woken for a job begin on different CPUs.
class Executor {
public:
  /// Work for a gang of workers.
  class Job {
  public:
    virtual ~Job() = default;
    /// How many workers it wants: 1 to maxWorkers().
    virtual uint32_t numWorkers() const = 0;
    /// Called once, after the job before has ended and before any worker runs.
    virtual void begin() = 0;
    /// Called on each of the workers [0, numWorkers()), at once. Must not throw.
    virtual void run(uint32_t worker) = 0;
    /// Called once, after all workers are done.
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

  /// Queues a job and returns, after awaitRoom. Throws Error as that does.
  void submit(std::shared_ptr<Job> job);

  /// Waits while so many jobs are queued that another one would have to wait. Throws Error in a forked
  /// process.
  void awaitRoom();

  // For running jobs. To wait for something without missing it, a worker takes `signal`, looks for the thing,
  // and sleeps with the signal that it took; whoever makes the thing true wakes the worker afterwards.
  uint32_t signal(uint32_t worker) const { return workers[worker].signal.load(std::memory_order_acquire); }
  void sleep(uint32_t worker, uint32_t seen) const {
    workers[worker].signal.wait(seen, std::memory_order_acquire);
  }
  /// To be called again and again by a worker that finds nothing to do, with a count that starts at 0: comes
  /// back at once at first, lets other threads have the core then, and sleeps in the end.
  void idle(uint32_t worker, uint32_t seen, int &count);
  void wake(uint32_t worker);
  void wakeAll();
  /// The same for a worker that polls in `idle`, cheap if it is not about to sleep: needs that what it looks
  /// for was stored, and is loaded there, with memory_order_seq_cst.
  void wakeSleeper(uint32_t worker) {
    if (workers[worker].sleepy.load(std::memory_order_seq_cst))
      wake(worker);
  }

private:
  // A caller that never waits must not queue arguments without end.
  static constexpr size_t kMaxQueued = 16;

  struct alignas(64) Worker {
    std::atomic<uint32_t> signal = 0;
    std::atomic<bool> sleepy = false; // asleep, or having a last look before that
    std::atomic<Job *> job = nullptr;
    Placement placement;
    std::thread thread;
  };

  std::unique_lock<std::mutex> lockRoom();
  void work(uint32_t worker);
  Job *awaitJob(uint32_t worker);
  void startNext(std::unique_lock<std::mutex> lock);
  void spread(uint32_t count);

  const uint32_t limit;
  const int process;
  std::unique_ptr<Worker[]> workers;
  std::atomic<bool> stopping = false;
  std::atomic<uint32_t> active = 0; // workers still in the running job

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> queue; // the running job first
  uint32_t started = 0;                   // workers that have a thread
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_EXECUTOR_H
