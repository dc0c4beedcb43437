#include "runtime/session/Exchange.h"

namespace epl::runtime {

Exchange::Exchange(std::shared_ptr<ProcessGroup> group)
    : processes(std::move(group)), transport(processes->open()) {}

template <typename Visit> void Exchange::forOthers(Visit visit) const {
  for (uint32_t process = 0; process < processes->numProcesses(); ++process)
    if (process != processes->process())
      visit(process);
}

/// Messages of two calls have one number: they come in their order.
void Exchange::await(const std::atomic<uint32_t> &left, const Wait &wait) {
  try {
    while (left.load(std::memory_order_acquire) != 0) {
      transport->progress();
      if (left.load(std::memory_order_acquire) != 0)
        wait();
    }
  } catch (...) {
    transport->cancel(left);
    throw;
  }
}

std::vector<Exchange::Bytes> Exchange::exchange(std::span<const std::byte> own, const Wait &wait) {
  uint32_t count = processes->numProcesses();
  std::vector<uint64_t> sizes(count);
  sizes[processes->process()] = own.size();
  auto swap = [&](const auto &bytesOf, std::span<const std::byte> sent) {
    std::atomic<uint32_t> left = 2 * (count - 1);
    forOthers([&](uint32_t other) { transport->receive(other, 0, bytesOf(other), left); });
    forOthers([&](uint32_t other) { transport->send(other, 0, sent, left); });
    await(left, wait);
  };
  swap([&](uint32_t other) { return std::as_writable_bytes(std::span(&sizes[other], 1)); },
       std::as_bytes(std::span(&sizes[processes->process()], 1)));
  std::vector<Bytes> all(count);
  for (uint32_t process = 0; process < count; ++process)
    all[process].resize(sizes[process]);
  all[processes->process()].assign(own.begin(), own.end());
  swap([&](uint32_t other) { return std::span(all[other]); }, own);
  return all;
}

} // namespace epl::runtime
