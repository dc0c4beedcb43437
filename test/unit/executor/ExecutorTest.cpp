#include "runtime/executor/Executor.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <immintrin.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>
#include <vector>

namespace epl::runtime {
namespace {

/// A job that counts what happens to it.
class CountingJob : public Executor::Job {
public:
  CountingJob(uint32_t workers, std::function<void(uint32_t)> work)
      : workers(workers), work(std::move(work)) {}

  uint32_t numWorkers() const override { return workers; }
  void begin() override { ++begun; }
  bool run(uint32_t worker) override {
    EXPECT_EQ(begun, 1);
    work(worker);
    ++ran;
    return true;
  }
  void end() override {
    EXPECT_EQ(ran, int(workers));
    ++ended;
  }

  std::atomic<int> begun = 0, ran = 0, ended = 0;

private:
  uint32_t workers;
  std::function<void(uint32_t)> work;
};

TEST(Executor, RunsEveryJobOnItsWorkersInOrder) {
  std::vector<int> order;
  std::vector<std::shared_ptr<CountingJob>> jobs;
  {
    Executor executor(3);
    for (int i = 0; i < 300; ++i) {
      jobs.push_back(std::make_shared<CountingJob>(1 + i % 3, [&order, i](uint32_t worker) {
        if (worker == 0)
          order.push_back(i);
      }));
      executor.submit(jobs.back());
    }
  } // runs what is queued
  for (const auto &job : jobs)
    EXPECT_EQ(job->ended, 1);
  ASSERT_EQ(order.size(), 300u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

/// Whether this thread leaves a signal to others.
bool isBlocked(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, signal);
}

TEST(Executor, WorkersLeaveSignalsToTheProgram) {
  Executor executor(1);
  executor.submit(std::make_shared<CountingJob>(1, [](uint32_t) {
    EXPECT_TRUE(isBlocked(SIGINT));
    EXPECT_FALSE(isBlocked(SIGSEGV));
  }));
}

TEST(Executor, WakesAWorkerThatSleeps) {
  std::atomic<bool> flag = false; // outlives the executor, which runs the job to its end
  Executor executor(2);
  auto job = std::make_shared<CountingJob>(2, [&](uint32_t worker) {
    if (worker == 1) {
      usleep(20000);
      flag = true;
      executor.wake(0);
      return;
    }
    for (uint32_t seen = executor.signal(0); !flag; seen = executor.signal(0))
      if (!flag)
        executor.sleep(0, seen);
  });
  executor.submit(job);
}

/// A job for helper threads. Slice 0 idles until it is told to end; each slice notes the threads that ran it.
class HelperJob : public Executor::Job {
public:
  HelperJob(Executor &executor, uint32_t slices) : executor(executor), threads(slices) {}

  uint32_t numWorkers() const override { return uint32_t(threads.size()); }
  void begin() override {}
  bool admitsHelpers() const override { return true; }
  bool run(uint32_t worker) override {
    threads[worker].push_back(std::this_thread::get_id());
    EXPECT_TRUE(isBlocked(SIGINT));
    EXPECT_FALSE(isBlocked(SIGSEGV));
    arithmetic = _mm_getcsr();
    for (Executor::Idling idling; worker == 0 && !released;) {
      uint32_t seen = executor.signal(worker);
      if (!released && !executor.idle(worker, seen, idling))
        return false;
    }
    return true;
  }
  void end() override { ended = true; }

  /// Lets slice 0 end, and waits for the end of the job.
  void finish() {
    release();
    while (!ended)
      std::this_thread::yield();
  }
  void release() {
    released = true;
    executor.wake(0);
  }

  Executor &executor;
  std::vector<std::vector<std::thread::id>> threads;
  std::atomic<unsigned> arithmetic = 0;
  std::atomic<bool> released = false, ended = false;
};

/// A job that has ended, whose slice 0 was begun by this thread: its worker may be quicker, unless it sleeps.
/// `idles`: whether slice 0 has to wait for something.
std::shared_ptr<HelperJob> finishAsHelper(Executor &executor, uint32_t slices, bool idles) {
  for (;;) {
    auto job = std::make_shared<HelperJob>(executor, slices);
    job->released = !idles;
    executor.submit(job, /*joins=*/true);
    executor.help();
    job->finish();
    if (job->threads[0][0] == std::this_thread::get_id())
      return job;
    usleep(1000);
  }
}

TEST(Executor, AHelperRunsTheSliceThatItWasLeft) {
  Executor executor(2);
  for (uint32_t slices : {1, 2})
    EXPECT_EQ(finishAsHelper(executor, slices, /*idles=*/false)->threads[0].size(), 1u);
}

TEST(Executor, AHelperLeavesASliceThatHasToWait) {
  Executor executor(2);
  auto job = finishAsHelper(executor, 2, /*idles=*/true);
  ASSERT_EQ(job->threads[0].size(), 2u);
  EXPECT_NE(job->threads[0][1], std::this_thread::get_id());
}

TEST(Executor, AHelperComputesAsWorkersDo) {
  Executor executor(1);
  unsigned before = _mm_getcsr();
  unsigned asHelper = finishAsHelper(executor, 1, /*idles=*/false)->arithmetic;
  EXPECT_NE(asHelper, before); // denormals
  EXPECT_EQ(_mm_getcsr(), before);
  EXPECT_FALSE(isBlocked(SIGINT));
  auto job = std::make_shared<HelperJob>(executor, 1);
  executor.submit(job);
  job->finish();
  EXPECT_EQ(asHelper, job->arithmetic);
}

TEST(Executor, NobodyHelpsAJobWithoutHelpers) {
  std::atomic<bool> ended = false;
  Executor executor(1);
  executor.submit(std::make_shared<CountingJob>(1, [&](uint32_t) { ended = true; }), /*joins=*/true);
  while (!ended)
    EXPECT_FALSE(executor.help());
}

TEST(Executor, AnyNumberOfThreadsHelp) {
  Executor executor(3);
  std::atomic<bool> done = false;
  std::vector<std::thread> helpers;
  helpers.reserve(4);
  for (int i = 0; i < 4; ++i)
    helpers.emplace_back([&] {
      while (!done) {
        executor.help();
        std::this_thread::yield();
      }
    });
  for (int i = 0; i < 300; ++i) {
    auto job = std::make_shared<HelperJob>(executor, 1 + i % 3);
    executor.submit(job, i % 2 == 0);
    if (i % 2 == 0)
      executor.help();
    job->finish();
  }
  done = true;
  for (std::thread &helper : helpers)
    helper.join();
}

/// Prepares in two pieces, if it is asked before it begins.
class PreparedJob final : public CountingJob {
public:
  PreparedJob() : CountingJob(1, [this](uint32_t) { EXPECT_EQ(asked, 2); }) {}
  bool prepareAhead() override {
    EXPECT_EQ(begun, 0);
    return ++asked == 2;
  }
  int asked = 0;
};

TEST(Executor, TheNextJobPreparesWhileOneWaits) {
  Executor executor(1);
  executor.submit(std::make_shared<CountingJob>(1, [&](uint32_t) {
    while (!executor.prepareNext()) // also before it is queued
      usleep(100);
  }));
  executor.submit(std::make_shared<PreparedJob>());
}

TEST(Executor, RefusesAForkedProcess) {
  Executor executor(1);
  executor.submit(std::make_shared<CountingJob>(1, [](uint32_t) {}));
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      executor.submit(std::make_shared<CountingJob>(1, [](uint32_t) {}));
    } catch (const Error &) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// Processor time of this process, in seconds.
double processorTime() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

TEST(Executor, IdleWorkersUseNoProcessor) {
  Executor executor(8);
  executor.submit(std::make_shared<CountingJob>(8, [](uint32_t) {}));
  usleep(100000);
  double before = processorTime();
  usleep(200000);
  // Spinning workers would use all cores for the whole time.
  EXPECT_LT(processorTime() - before, 0.1);
}

} // namespace
} // namespace epl::runtime
