#include "runtime/session/Exchange.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime {

Exchange::Exchange(std::shared_ptr<ProcessGroup> group)
    : processes(std::move(group)), transport(processes->open()) {}

template <typename Visit> void Exchange::forOthers(Visit visit) const {
  for (uint32_t process = 0; process < processes->numProcesses(); ++process)
    if (process != processes->process())
      visit(process);
}

void Exchange::stop(const std::string &why) {
  std::lock_guard lock(mutex);
  reason = why;
}

void Exchange::check(const Lefts &lefts, Clock::time_point end) {
  {
    std::lock_guard lock(mutex);
    if (!reason.empty())
      throw Error(reason);
  }
  if (Clock::now() < end)
    return;
  std::string silent;
  forOthers([&](uint32_t process) {
    if (lefts[process] != 0)
      silent += (silent.empty() ? "" : ", ") + std::to_string(process);
  });
  throw Error("no answer of process " + silent);
}

void Exchange::await(const Lefts &lefts, Clock::time_point end, const Wait &wait) {
  auto isOver = [&] { return std::ranges::all_of(lefts, [](const auto &left) { return left == 0; }); };
  try {
    for (transport->progress(); !isOver(); transport->progress()) {
      check(lefts, end);
      wait();
    }
  } catch (...) {
    for (const std::atomic<uint32_t> &left : lefts)
      transport->cancel(left);
    throw;
  }
}

/// First the sizes, then what is said. Messages of several calls have one number: they come in their order.
std::vector<Exchange::Bytes> Exchange::exchange(std::span<const std::byte> own,
                                                std::chrono::milliseconds limit, const Wait &wait) {
  Clock::time_point end = Clock::now() + limit;
  uint32_t count = processes->numProcesses(), self = processes->process();
  auto swap = [&](std::span<const std::byte> sent, const auto &roomOf) {
    Lefts lefts(count);
    forOthers([&](uint32_t other) { lefts[other] = 2; });
    forOthers([&](uint32_t other) { transport->receive(other, 0, roomOf(other), lefts[other]); });
    forOthers([&](uint32_t other) { transport->send(other, 0, sent, lefts[other]); });
    await(lefts, end, wait);
  };
  std::vector<uint64_t> sizes(count, own.size());
  swap(std::as_bytes(std::span(&sizes[self], 1)),
       [&](uint32_t other) { return std::as_writable_bytes(std::span(&sizes[other], 1)); });
  std::vector<Bytes> all(count);
  for (uint32_t process = 0; process < count; ++process)
    all[process].resize(sizes[process]);
  std::ranges::copy(own, all[self].begin());
  swap(own, [&](uint32_t other) { return std::span(all[other]); });
  return all;
}

} // namespace epl::runtime
