// Steps of devices that run all commands at once, in processes that wait for one another at the end.

#include "Tensors.h"

#include "runtime/device/cpu/CpuDevices.h"
#include "test/unit/collective/messages/Network.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace epl::runtime::test {
namespace {

/// Has done all as soon as it has begun.
class CountedStep final : public BoundStep {
public:
  explicit CountedStep(std::atomic<int> &starts) : starts(starts) {}

  void start(std::span<const AddressTable *const>, bool, const std::function<bool()> &) override { ++starts; }
  bool isDone() override { return true; }
  std::vector<Span> times() const override { return {}; }
  void cancel() noexcept override {}
  std::vector<Waiting> waiting() const override { return {}; }
  uint64_t numMoved() const noexcept override { return 0; }

private:
  std::atomic<int> &starts;
};

class CountedCode final : public Code {
public:
  explicit CountedCode(std::atomic<int> &starts) : starts(starts) {}

  std::unique_ptr<BoundStep> bindStep(const Channels &, const LocalRanks &) const override {
    return std::make_unique<CountedStep>(starts);
  }
  std::unique_ptr<Command> bind(const plan::PlanT &, uint32_t) const override { return nullptr; }

private:
  std::atomic<int> &starts;
};

class WholeDevices final : public DeviceSet {
public:
  bool usesHostMemory() const override { return false; }
  std::unique_ptr<Allocation> allocate(uint32_t device, size_t size, Memory::Fill) override {
    return cpu.allocate(device, size, Memory::Fill::zeros);
  }
  void copyIn(const std::byte *host, Allocation &to) override { cpu.copyIn(host, to); }
  void copyOut(const Allocation &from, std::byte *host) override { cpu.copyOut(from, host); }
  void copy(const Allocation &from, Allocation &to) override { cpu.copy(from, to); }
  std::unique_ptr<Code> load(const plan::PlanT &) override { return std::make_unique<CountedCode>(starts); }

  std::atomic<int> starts = 0;

private:
  CpuDevices cpu;
};

/// On two ranks, of two processes: y = x + 1.
std::shared_ptr<const plan::PlanT> makePlan() {
  TestPlan plan(2);
  uint32_t x =
      plan.slotBuffer(plan.slot(plan::SlotRole::batch, "x", plan::ElementType::i64, {2}, {{"data"}}));
  uint32_t y =
      plan.slotBuffer(plan.slot(plan::SlotRole::result, "y", plan::ElementType::i64, {2}, {{"data"}}));
  plan.launch("increment", 1, {x, y});
  return plan.finish();
}

// Once steps are short the thread that waits for a call runs it, and leaves it to a worker as it would have
// to sleep: in the sixth step, for which the other process comes late.
TEST(WholeStep, BeginsOnceThoughItsEndIsAwaitedByAnotherThread) {
  std::shared_ptr<const plan::PlanT> plan = makePlan();
  Network network(2, 1);
  WholeDevices devices[2];
  std::vector<std::thread> processes;
  for (uint32_t process = 0; process < 2; ++process)
    processes.emplace_back([&, process] {
      Executor executor(1);
      std::shared_ptr<DeviceSet> own(&devices[process], [](DeviceSet *) {});
      Session session(plan, Backend{own, nullptr, network.join(process)}, executor);
      for (int step = 1; step <= 6; ++step) {
        if (process == 1 && step == 6)
          std::this_thread::sleep_for(std::chrono::milliseconds(30)); // the other one waits that long
        session.call({integers({1, 2})}, {false}, "step", /*waits=*/true).call->wait();
        EXPECT_EQ(devices[process].starts, step) << "process " << process;
      }
    });
  for (std::thread &process : processes)
    process.join();
}

} // namespace
} // namespace epl::runtime::test
