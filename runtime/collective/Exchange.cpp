#include "runtime/collective/Exchange.h"

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
  for (transport->progress(); !isOver(); transport->progress()) {
    check(lefts, end);
    wait();
  }
}

/// First the sizes, then what is said. Messages of several calls have one number: they come in their order.
std::vector<Exchange::Bytes> Exchange::exchange(std::span<const std::byte> own,
                                                std::chrono::milliseconds limit, const Wait &wait) {
  Clock::time_point end = Clock::now() + limit;
  uint32_t count = processes->numProcesses(), self = processes->process();
  auto room = std::make_unique<Room>(count);
  auto swap = [&](const auto &roomOf) {
    forOthers([&](uint32_t other) { room->lefts[other] = 2; });
    forOthers([&](uint32_t other) { transport->receive(other, 0, roomOf(other), room->lefts[other]); });
    forOthers([&](uint32_t other) { transport->send(other, 0, roomOf(self), room->lefts[other]); });
    await(room->lefts, end, wait);
  };
  try {
    room->sizes[self] = own.size();
    swap([&](uint32_t process) { return std::as_writable_bytes(std::span(&room->sizes[process], 1)); });
    for (uint32_t process = 0; process < count; ++process)
      room->said[process].resize(room->sizes[process]);
    std::ranges::copy(own, room->said[self].begin());
    swap([&](uint32_t process) { return std::span(room->said[process]); });
    return std::move(room->said);
  } catch (...) {
    bool isLetGo = true;
    for (const std::atomic<uint32_t> &left : room->lefts)
      isLetGo &= transport->cancel(left);
    if (!isLetGo)
      (void)room.release(); // messages may still touch it, until the process ends
    throw;
  }
}

} // namespace epl::runtime
