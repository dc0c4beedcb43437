//===- SignalStack.h - Where a thread's handlers of signals run -*- C++ -*-===//
#pragma once

#include <csignal>
#include <memory>

namespace mlir::epl {

/// While it lives, handlers of signals run on a stack of its own on this thread: what reports a crash runs
/// where the thread's stack has overflowed, too.
class SignalStack {
public:
  SignalStack() {
    stack_t stack = {};
    stack.ss_sp = memory.get();
    stack.ss_size = kSize;
    sigaltstack(&stack, &before);
  }
  ~SignalStack() { sigaltstack(&before, nullptr); }
  SignalStack(const SignalStack &) = delete;
  SignalStack &operator=(const SignalStack &) = delete;

private:
  static constexpr size_t kSize = 1 << 16;

  std::unique_ptr<char[]> memory = std::make_unique<char[]>(kSize);
  stack_t before = {};
};

} // namespace mlir::epl
