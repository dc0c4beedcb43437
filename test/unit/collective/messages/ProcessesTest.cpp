// Plans over several processes: every byte of every rank is what one process has.

#include "Network.h"
#include "test/unit/plan/Plans.h"

#include "runtime/collective/inproc/Inproc.h"
#include "runtime/collective/messages/MessageCollectives.h"
#include "runtime/device/cpu/CpuDevices.h"
#include "runtime/device/cpu/Guarded.h"
#include "runtime/executor/Step.h"
#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Parts.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <thread>

namespace epl::runtime::test {
namespace {

/// Writes bytes that depend on all bytes that it reads, on the rank, and on where they are. A single byte may
/// be a predicate, which is equal on all ranks: it depends on the step alone.
class Mixing final : public Command {
public:
  Mixing(const plan::PlanT &plan, const plan::CommandT &command)
      : accesses(accessesOf(plan, Mesh(plan), command)), steps(plan.devices) {}

  CommandState start(const CommandContext &context) override {
    uint32_t mixed = context.rank + 1, step = steps[context.rank]++;
    for (const Access &access : accesses)
      if (!access.write)
        for (ByteRange range : access.ranges)
          for (uint64_t i = range.begin; i < range.end; ++i)
            mixed = mixed * 31 + bytesOf(context, access)[i];
    for (const Access &access : accesses)
      if (access.write)
        for (ByteRange range : access.ranges)
          for (uint64_t i = range.begin; i < range.end; ++i)
            bytesOf(context, access)[i] =
                isByte(access) ? (access.buffer + step) % 2 : uint8_t(mixed + 7 * i) % 3;
    return CommandState::done;
  }

private:
  static bool isByte(const Access &access) { return access.ranges == std::vector<ByteRange>{{0, 1}}; }
  static uint8_t *bytesOf(const CommandContext &context, const Access &access) {
    return static_cast<uint8_t *>(context.addresses.get(context.rank, access.buffer));
  }

  std::vector<Access> accesses;
  std::vector<uint32_t> steps; // of each rank
};

class MixingDevices final : public DeviceSet {
public:
  bool usesHostMemory() const override { return true; }
  std::unique_ptr<Allocation> allocate(uint32_t device, size_t size, Memory::Fill fill) override {
    return cpu.allocate(device, size, fill);
  }
  void copyIn(const std::byte *host, Allocation &to) override { cpu.copyIn(host, to); }
  void copyOut(const Allocation &from, std::byte *host) override { cpu.copyOut(from, host); }
  void copy(const Allocation &from, Allocation &to) override { cpu.copy(from, to); }
  std::unique_ptr<Code> load(const plan::PlanT &) override { return std::make_unique<Mixed>(); }

private:
  struct Mixed final : public Code {
    std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t command) const override {
      const plan::CommandT &source = *plan.commands[command];
      return guarded(std::make_unique<Mixing>(plan, source), source.guards);
    }
  };
  CpuDevices cpu;
};

/// Some devices of a plan, with the memory of their slots: a process, or all of them.
class Process {
public:
  Process(const std::shared_ptr<const plan::PlanT> &plan, std::shared_ptr<Collectives> collectives,
          const std::vector<uint32_t> &devices, uint32_t numWorkers)
      : executor(numWorkers), loaded(plan, Backend{std::make_shared<MixingDevices>(), std::move(collectives)},
                                     LocalRanks(*plan, devices)),
        frame(loaded, std::min(numWorkers, uint32_t(devices.size()))) {
    for (uint32_t part = 0; part < loaded.numPrograms(); ++part)
      for (uint32_t rank : loaded.program(part).ranks())
        fillSlots(part, rank);
  }

  void submit() {
    step = std::make_shared<OneStep>(loaded, frame, executor);
    executor.submit(step);
  }
  void stop(const std::string &reason) { step->stop(reason); }
  /// Waits for the step; what went wrong.
  std::string wait() {
    step->ended.wait(false);
    return step->error;
  }

  /// All bytes of a rank: of the arena, and of its slots.
  std::vector<std::byte> bytesOf(uint32_t part, uint32_t rank) const {
    const plan::PlanT &plan = loaded.program(part).plan();
    std::vector<std::byte> all;
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer) {
      const auto *begin = static_cast<const std::byte *>(frame.meshes[part].addresses.get(rank, buffer));
      all.insert(all.end(), begin, begin + plan.buffers[buffer]->size);
    }
    return all;
  }
  const LoadedPlan &plan() const { return loaded; }

private:
  class OneStep final : public Step {
  public:
    OneStep(const LoadedPlan &plan, Frame &frame, Executor &executor)
        : Step(plan, frame, executor, stopped, 1), executor(executor) {}
    void end() override {
      Step::end();
      ended = true;
      ended.notify_all();
    }
    void stop(const std::string &reason) {
      error = reason;
      stopped = true;
      executor.wakeAll();
    }
    std::atomic<bool> stopped = false, ended = false;
    std::string error;

  private:
    void prepare(const Frame::Cursor &) override {}
    void collect(const Frame::Cursor &) override {}
    void fail(const std::string &reason) override { stop(reason); }
    Executor &executor;
  };

  void fillSlots(uint32_t part, uint32_t rank) {
    const plan::PlanT &plan = loaded.program(part).plan();
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (BufferPlace place = placeOf(plan, buffer); place.slot >= 0) {
        Memory &memory = slots[{part, rank, place.slot}];
        if (memory.size() == 0) {
          memory = Memory(localBytes(plan, *plan.slots[place.slot]));
          for (size_t i = 0; i < memory.size(); ++i)
            memory.data()[i] =
                std::byte(memory.size() == 1 ? 1 : (i + size_t(rank) * 5 + uint32_t(place.slot)) % 3);
        }
        frame.meshes[part].addresses.set(rank, buffer, memory.data() + place.offset);
      }
  }

  Executor executor;
  LoadedPlan loaded;
  Frame frame;
  std::map<std::tuple<uint32_t, uint32_t, int32_t>, Memory> slots;
  std::shared_ptr<OneStep> step;
};

std::vector<uint32_t> devicesFrom(uint32_t first, uint32_t count) {
  std::vector<uint32_t> devices(count);
  std::iota(devices.begin(), devices.end(), first);
  return devices;
}

/// Three steps over so many processes, beside the same in one.
void expectSame(const std::string &name, plan::PlanT made, uint32_t numProcesses, unsigned seed) {
  auto plan = std::make_shared<const plan::PlanT>(std::move(made));
  uint32_t each = plan->devices / numProcesses;
  Network network(numProcesses, seed);
  Process whole(plan, std::make_shared<InprocCollectives>(), devicesFrom(0, plan->devices), 2);
  std::vector<std::unique_ptr<Process>> processes;
  processes.reserve(numProcesses);
  for (uint32_t process = 0; process < numProcesses; ++process)
    processes.push_back(
        std::make_unique<Process>(plan, std::make_shared<MessageCollectives>(network.join(process), each),
                                  devicesFrom(process * each, each), 2));
  for (int step = 0; step < 3; ++step) {
    whole.submit();
    for (auto &process : processes)
      process->submit();
    ASSERT_EQ(whole.wait(), "");
    for (auto &process : processes)
      ASSERT_EQ(process->wait(), "") << name;
    for (auto &process : processes)
      for (uint32_t part = 0; part < process->plan().numPrograms(); ++part)
        for (uint32_t rank : process->plan().program(part).ranks())
          ASSERT_EQ(process->bytesOf(part, rank), whole.bytesOf(part, rank))
              << name << " over " << numProcesses << " processes, step " << step << ", part " << part
              << ", rank " << rank;
  }
  EXPECT_EQ(network.numOpen(), 0u) << name;
}

TEST(Processes, HaveTheBytesOfOne) {
  for (NamedPlan &named : allPlans())
    for (uint32_t processes : {2u, 3u, 4u, 6u})
      if (named.plan.devices % processes == 0)
        expectSame(named.name, plan::PlanT(named.plan), processes, processes);
}

TEST(Processes, OfRandomPlansHaveTheBytesOfOne) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    plan::PlanT plan = randomPlan(seed);
    for (uint32_t processes : {2u, 4u})
      if (plan.devices % processes == 0)
        expectSame("random " + std::to_string(seed), plan::PlanT(plan), processes, seed);
  }
}

/// Messages of two plans have the same numbers, and each process does their steps when it comes to them.
TEST(Processes, KeepPlansApart) {
  Network network(2, 1);
  std::vector<std::shared_ptr<ProcessGroup>> groups{network.join(0), network.join(1)};
  auto load = [&](plan::PlanT made, std::vector<std::unique_ptr<Process>> &processes) {
    auto plan = std::make_shared<const plan::PlanT>(std::move(made));
    uint32_t each = plan->devices / 2;
    for (uint32_t process : {0u, 1u})
      processes.push_back(
          std::make_unique<Process>(plan, std::make_shared<MessageCollectives>(groups[process], each),
                                    devicesFrom(process * each, each), 1));
    processes.push_back(std::make_unique<Process>(plan, std::make_shared<InprocCollectives>(),
                                                  devicesFrom(0, plan->devices), 1));
  };
  std::vector<std::unique_ptr<Process>> first, second;
  load(trainingPlan(2), first);
  load(blocksPlan(), second);
  for (auto &process : first)
    process->submit();
  for (auto &process : second)
    process->submit();
  for (auto *processes : {&first, &second})
    for (uint32_t process : {0u, 1u, 2u})
      ASSERT_EQ((*processes)[process]->wait(), "");
  for (auto *processes : {&first, &second})
    for (uint32_t process : {0u, 1u})
      for (uint32_t rank : (*processes)[process]->plan().program(0).ranks())
        EXPECT_EQ((*processes)[process]->bytesOf(0, rank), (*processes)[2]->bytesOf(0, rank));
}

/// What comes is kept in two places for each lane and group of ranks, however many commands there are.
TEST(Processes, KeepTwoDeliveriesAtATime) {
  std::vector<size_t> bytes;
  for (uint32_t sums : {4u, 40u}) {
    PlanMaker maker;
    maker.axis("data", 2);
    uint32_t all = maker.addCommunicator({"data"});
    uint32_t x = maker.argument("x", plan::SlotRole::batch, 8192, {"data"});
    uint32_t result = maker.slot("sum", plan::SlotRole::result, 4096);
    for (uint32_t i = 0; i < sums; ++i) {
      uint32_t sum = maker.buffer("sum", 4096);
      maker.sum("sum", all, x, sum);
      x = sum;
    }
    maker.setResult(result, x);
    auto plan = std::make_shared<const plan::PlanT>(maker.finish());
    Network network(2, 1);
    size_t before = Memory::liveBytes();
    Process process(plan, std::make_shared<MessageCollectives>(network.join(0), 1), {0}, 1);
    bytes.push_back(Memory::liveBytes() - before - plan->arena_size);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

/// A step that is stopped leaves nothing behind: what it waits for comes no more.
TEST(Processes, GiveUpWhatIsStopped) {
  Network network(2, 1);
  auto plan = std::make_shared<const plan::PlanT>(trainingPlan(2));
  Process process(plan, std::make_shared<MessageCollectives>(network.join(0), 1), {0}, 1);
  process.submit(); // the other one never begins
  while (network.numOpen() == 0)
    std::this_thread::yield();
  process.stop("as asked");
  EXPECT_EQ(process.wait(), "as asked");
  EXPECT_EQ(network.numOpen(), 0u);
}

/// Activations and their gradients go from one mesh to the other, both of which are in both processes or not.
TEST(Processes, SendMessagesOfChannels) {
  for (uint32_t processes : {2u, 3u, 6u})
    if (plan::PlanT plan = sideBySidePlan(); plan.devices % processes == 0)
      expectSame("side by side", std::move(plan), processes, processes);
}

} // namespace
} // namespace epl::runtime::test
