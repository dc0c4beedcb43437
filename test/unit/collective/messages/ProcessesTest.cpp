// Plans over several processes: every byte of every rank is what one process has.

#include "Processes.h"
#include "Network.h"
#include "test/unit/plan/Plans.h"

#include "runtime/collective/inproc/Inproc.h"
#include "runtime/collective/messages/MessageCollectives.h"
#include "runtime/collective/messages/MessageTable.h"
#include "runtime/plan/model/Outside.h"

#include <gtest/gtest.h>

#include <thread>

namespace epl::runtime::test {
namespace {

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
      if (named.plan.devices % processes == 0 && !hasOutside(named.plan)) // workers of servers are alone
        expectSame(named.name, plan::PlanT(named.plan), processes, processes);
}

TEST(Processes, OfRandomPlansHaveTheBytesOfOne) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    plan::PlanT plan = randomPlan(seed);
    for (uint32_t processes : {2u, 3u, 4u, 6u})
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

/// Sums and scatters of several tensors whose parts go one by one, since they are large, beside one that is
/// small, and rows of a tensor.
plan::PlanT largePiecesPlan() {
  PlanMaker maker;
  maker.axis("data", 4);
  uint32_t all = maker.addCommunicator({"data"});
  constexpr int64_t size = 2700000, small = 100; // a part is more than two runs
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 4 * size, {"data"});
  uint32_t y = maker.argument("y", plan::SlotRole::batch, 4 * small, {"data"});
  uint32_t sum = maker.buffer("sum", size), other = maker.buffer("other", small);
  maker.sum("sums", all, {{x, sum}, {y, other}});
  uint32_t rows = maker.buffer("rows", size), part = maker.buffer("part", size / 4);
  maker.exchange("to rows", all, x, rows, {4, size}, {{"data"}, {}}, {{}, {"data"}});
  maker.scatter("scatter", all, sum, part, {3, size / 3}, {{}, {"data"}});
  maker.setResult(maker.slot("sum", plan::SlotRole::result, size), sum);
  maker.setResult(maker.slot("other", plan::SlotRole::result, small), other);
  maker.setResult(maker.slot("rows", plan::SlotRole::result, 4 * size, {"data"}), rows);
  maker.setResult(maker.slot("part", plan::SlotRole::result, size, {"data"}), part);
  return maker.finish();
}

TEST(Processes, SendLargePiecesFromWhereTheyAre) {
  for (uint32_t processes : {2u, 4u})
    expectSame("large pieces", largePiecesPlan(), processes, processes);
}

/// A large sum that one rank gets as it comes, and what it has, which comes to its place; a small one of
/// another.
plan::PlanT largeRootsPlan() {
  PlanMaker maker;
  maker.axis("data", 4);
  uint32_t all = maker.addCommunicator({"data"});
  constexpr int64_t size = 2700000, small = 33;
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 4 * size, {"data"});
  uint32_t y = maker.argument("y", plan::SlotRole::batch, 4 * small, {"data"});
  uint32_t sum = maker.buffer("sum", size), other = maker.buffer("other", small);
  maker.reduce("reduce", all, 2, x, sum);
  maker.reduce("reduce other", all, 1, y, other);
  maker.broadcast("broadcast other", all, 1, {other});
  maker.broadcast("broadcast", all, 2, {sum});
  maker.setResult(maker.slot("sum", plan::SlotRole::result, size), sum);
  maker.setResult(maker.slot("other", plan::SlotRole::result, small), other);
  return maker.finish();
}

TEST(Processes, SendLargeTensorsToRootsAndFromThem) {
  for (uint32_t processes : {2u, 4u})
    expectSame("large roots", largeRootsPlan(), processes, processes);
}

/// Where one rank reads a sum, the first half is added up as it comes, and the second half comes into the
/// buffer itself.
TEST(Processes, KeepNothingThatComesToItsPlace) {
  constexpr size_t size = size_t(1) << 20;
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 2 * size, {"data"}),
           sum = maker.buffer("sum", size);
  maker.sum("sum", all, x, sum);
  maker.setResult(maker.slot("sum", plan::SlotRole::result, size), sum);
  auto plan = std::make_shared<const plan::PlanT>(maker.finish());
  Network network(2, 1);
  size_t before = Memory::liveBytes();
  Process process(plan, std::make_shared<MessageCollectives>(network.join(0), 1), {0}, 1);
  EXPECT_EQ(Memory::liveBytes() - before, plan->arena_size + 2 * size + 4 * Message::kMostRun);
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
