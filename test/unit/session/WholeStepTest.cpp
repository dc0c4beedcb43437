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
  void copyIn(const std::byte *host, Allocation &to) override {
    cpu.copyIn(host, to);
    const auto *values = reinterpret_cast<const int64_t *>(host);
    copiedIn.assign(values, values + to.size() / sizeof(int64_t));
  }
  void copyOut(const Allocation &from, std::byte *host) override { cpu.copyOut(from, host); }
  void copy(const Allocation &from, Allocation &to) override { cpu.copy(from, to); }
  std::unique_ptr<Code> load(const plan::PlanT &) override { return std::make_unique<CountedCode>(starts); }

  std::atomic<int> starts = 0;
  std::vector<int64_t> copiedIn; // last

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

/// Notes how many steps the devices have begun when values come and go.
class NotingOutside final : public Outside {
public:
  explicit NotingOutside(const std::atomic<int> &starts) : starts(starts) {}

  void pull(std::span<const Wanted> wanted, Listener &listener) override {
    server = std::thread([this, tensor = wanted[0].tensor, &listener] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      startsBefore = starts.load();
      std::fill_n(reinterpret_cast<int64_t *>(tensor.data), 2, 7);
      listener.arrived(0);
    });
  }
  void push(uint32_t slot, const HostTensor &tensor) override {
    pushed.emplace_back(slot, elements<int64_t>(tensor));
  }
  void end() noexcept override { server.join(); }

  const std::atomic<int> &starts;
  std::atomic<int> startsBefore = -1;
  std::vector<std::pair<uint32_t, std::vector<int64_t>>> pushed;

private:
  std::thread server;
};

// What is pulled is copied to the devices before they begin, what is pushed from them when they are done.
TEST(WholeStep, BeginsWithAllThatIsPulled) {
  TestPlan plan(1);
  uint32_t w = plan.slotBuffer(plan.slot(plan::SlotRole::pulled, "w", plan::ElementType::i64, {2}));
  uint32_t g = plan.slotBuffer(plan.slot(plan::SlotRole::pushed, "g", plan::ElementType::i64, {2}));
  plan::PullT pull;
  pull.target = w;
  plan::PushT push;
  push.source = g;
  uint32_t in = plan.lane(plan::LaneKind::pull), out = plan.lane(plan::LaneKind::push);
  uint32_t pulled = plan.command("pulled w", pull, {}, in);
  uint32_t made = plan.launch("increment", 2, {w, g}, {after(pulled)});
  plan.command("g", push, {after(made)}, out);
  auto devices = std::make_shared<WholeDevices>();
  Executor executor(1);
  Session session(plan.finish(), Backend{devices, nullptr}, executor);
  for (int step = 0; step < 3; ++step) {
    auto outside = std::make_shared<NotingOutside>(devices->starts);
    Outcome outcome = session.call({Pulled()}, {false}, "step", /*waits=*/true, outside);
    outcome.call->wait();
    EXPECT_EQ(outside->startsBefore, step);
    EXPECT_EQ(devices->starts, step + 1);
    EXPECT_EQ(devices->copiedIn, std::vector<int64_t>(2, 7));
    ASSERT_EQ(outside->pushed.size(), 1u);
    EXPECT_EQ(outside->pushed[0].first, 1u);
  }
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
