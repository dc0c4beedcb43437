//===- NcclEverywhere.h - Members wherever they may be ----------*- C++ -*-===//
#pragma once

#include "test/unit/cuda/libraries/NcclFixture.h"

#include <sys/wait.h>
#include <thread>

namespace nccl_double {

enum class Where { oneThread, threads, processes };
inline constexpr Where kWhere[] = {Where::oneThread, Where::threads, Where::processes};

/// So many members, in one thread, in several, or in processes.
class NcclTest : public testing::TestWithParam<std::tuple<int, Where>> {
protected:
  void SetUp() override { eplCudaRestart(static_cast<uint64_t>(count)); }
  void TearDown() override {
    EXPECT_THAT(findings(), testing::IsEmpty());
    EXPECT_FALSE(exists(id)) << "files of members are left";
  }

  /// Each member takes these steps. The calls of a step are a group; in one thread all members take a step
  /// before one takes the next.
  template <typename... Steps> void run(Steps... steps) {
    id = makeId();
    if (std::get<Where>(GetParam()) == Where::oneThread)
      runHere(steps...);
    else if (std::get<Where>(GetParam()) == Where::threads)
      runInThreads(steps...);
    else
      runInProcesses(steps...);
  }

  const int count = std::get<int>(GetParam());
  UniqueId id;

private:
  template <typename... Steps> void runHere(Steps... steps) {
    Members members = makeMembers(count, id);
    auto take = [&](auto step) { EXPECT_EQ(inGroup(members, step), Status::success); };
    (take(steps), ...);
    for (auto &each : members)
      EXPECT_EQ(each->wait(), CUDA_SUCCESS);
  }

  template <typename... Steps> void runOne(Member &member, Steps... steps) {
    ASSERT_EQ(member.begin(count, id), Status::success);
    member.use();
    auto take = [&](auto step) {
      EXPECT_EQ(ncclGroupStart(), Status::success);
      step(member);
      EXPECT_EQ(ncclGroupEnd(), Status::success);
    };
    (take(steps), ...);
    EXPECT_EQ(member.wait(), CUDA_SUCCESS);
  }

  /// Memory is freed when no thread has work.
  template <typename... Steps> void runInThreads(Steps... steps) {
    Members members;
    std::vector<std::thread> threads;
    for (int number = 0; number < count; ++number)
      members.push_back(std::make_unique<Member>(number));
    for (auto &each : members)
      threads.emplace_back([&, member = each.get()] { runOne(*member, steps...); });
    for (std::thread &each : threads)
      each.join();
  }

  template <typename... Steps> void runInProcesses(Steps... steps) {
    std::vector<pid_t> processes;
    for (int number = 0; number < count; ++number) {
      pid_t process = fork();
      ASSERT_GE(process, 0);
      if (process == 0) {
        {
          Member member(number);
          runOne(member, steps...);
        }
        EXPECT_THAT(findings(), testing::IsEmpty());
        _exit(HasFailure() ? 1 : 0);
      }
      processes.push_back(process);
    }
    for (pid_t each : processes) {
      int status = 0;
      waitpid(each, &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
  }
};

} // namespace nccl_double
