#include "runtime/executor/Executor.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
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
  void run(uint32_t worker) override {
    EXPECT_EQ(begun, 1);
    work(worker);
    ++ran;
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

TEST(Executor, WorkersLeaveSignalsToTheProgram) {
  Executor executor(1);
  executor.submit(std::make_shared<CountingJob>(1, [](uint32_t) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    EXPECT_TRUE(sigismember(&blocked, SIGINT));
    EXPECT_FALSE(sigismember(&blocked, SIGSEGV));
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
