//===- SignalStackTest.cpp - A thread whose stack overflows ---------------===//

#include "passes/kernel/convert/SignalStack.h"

#include <gtest/gtest.h>

#include <thread>
#include <unistd.h>

namespace {

constexpr int kReported = 7;

/// Ends the process, if there is a stack to run on.
void report(int) { _exit(kReported); }

/// Goes as deep as `depth`, a frame of a kilobyte each.
int recurse(int depth) {
  volatile char frame[1024];
  frame[0] = char(depth);
  return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

/// A thread goes deeper than any stack is, with a handler of SIGSEGV that takes another stack where there is
/// one.
void overflowInThread() {
  struct sigaction action = {};
  action.sa_handler = report;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  std::thread([] {
    mlir::epl::SignalStack stack;
    recurse(1 << 30);
  }).join();
}

TEST(SignalStack, HandlersRunWhereTheStackHasOverflowed) {
  EXPECT_EXIT(overflowInThread(), testing::ExitedWithCode(kReported), "");
}

TEST(SignalStack, TheStackBeforeIsSetAgain) {
  stack_t before = {}, during = {}, after = {};
  sigaltstack(nullptr, &before);
  {
    mlir::epl::SignalStack stack;
    sigaltstack(nullptr, &during);
  }
  sigaltstack(nullptr, &after);
  EXPECT_EQ(during.ss_flags & SS_DISABLE, 0);
  EXPECT_NE(during.ss_sp, before.ss_sp);
  EXPECT_EQ(after.ss_flags, before.ss_flags);
}

} // namespace
