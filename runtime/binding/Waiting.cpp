#include "runtime/binding/Waiting.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <optional>

namespace epl::runtime::binding {

namespace nb = nanobind;

// How long Ctrl-C may go unseen.
static constexpr std::chrono::milliseconds kSignalInterval(20);

// The longer it waits, the longer it sleeps: what it waits for is seen late by a small part of its delay.
static constexpr std::chrono::microseconds kShortestSleep(50), kLongestSleep(1000);

void waitForEnd(std::shared_ptr<Call> call) {
  if (!call)
    return;
  std::optional<nb::python_error> interrupt;
  for (bool ended = false; !ended;) {
    {
      nb::gil_scoped_release unlocked;
      ended = call->waitFor(kSignalInterval);
    } // it may have run a slice of the step meanwhile, and signals are to be seen before the end is
    if (PyErr_CheckSignals() == 0)
      continue;
    if (interrupt) {
      PyErr_Clear();
      call->cancel("interrupted by a second Ctrl-C");
    } else {
      interrupt.emplace(); // takes the error that the handler raised
    }
  }
  call->release();
  if (interrupt)
    throw nb::python_error(std::move(*interrupt));
}

void checkSignals() {
  nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0)
    throw nb::python_error();
}

void SignalChecks::operator()() {
  auto now = std::chrono::steady_clock::now();
  if (!Executor::linger(count++))
    std::this_thread::sleep_for(
        std::clamp<std::chrono::nanoseconds>((now - begin) / 64, kShortestSleep, kLongestSleep));
  if (now - last < kSignalInterval)
    return;
  last = now;
  checkSignals();
}

void waitFor(const std::shared_ptr<Call> &call) {
  waitForEnd(call);
  if (call)
    call->wait();
}

} // namespace epl::runtime::binding
