// Plans over processes that mpirun has started: every byte of every rank is what one process has.
//
//   mpirun -n 2 EplMpiTests        all processes run the same tests in the same order

#include "test/unit/collective/messages/Processes.h"
#include "test/unit/plan/Plans.h"

#include "runtime/collective/inproc/Inproc.h"
#include "runtime/collective/messages/MessageCollectives.h"
#include "runtime/collective/mpi/MpiGroup.h"
#include "runtime/plan/model/Outside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mpi.h>
#include <thread>

namespace epl::runtime::test {
namespace {

/// Three steps, beside the same in this process alone.
void expectSame(const std::string &name, plan::PlanT made) {
  std::shared_ptr<ProcessGroup> group = openMpiGroup();
  if (made.devices % group->numProcesses() != 0)
    return;
  auto plan = std::make_shared<const plan::PlanT>(std::move(made));
  uint32_t each = plan->devices / group->numProcesses();
  Process whole(plan, std::make_shared<InprocCollectives>(), devicesFrom(0, plan->devices), 2);
  Process own(plan, std::make_shared<MessageCollectives>(group, each),
              devicesFrom(group->process() * each, each), 2);
  for (int step = 0; step < 3; ++step) {
    for (Process *process : {&whole, &own})
      process->submit();
    for (Process *process : {&whole, &own})
      ASSERT_EQ(process->wait(), "") << name;
    for (uint32_t part = 0; part < own.plan().numPrograms(); ++part)
      for (uint32_t rank : own.plan().program(part).ranks())
        ASSERT_EQ(own.bytesOf(part, rank), whole.bytesOf(part, rank))
            << name << ", step " << step << ", part " << part << ", rank " << rank;
  }
}

TEST(Mpi, HasSeveralProcesses) { EXPECT_GT(openMpiGroup()->numProcesses(), 1u) << "run by mpirun"; }

TEST(Mpi, HasTheBytesOfOneProcess) {
  for (NamedPlan &named : allPlans())
    if (!hasOutside(named.plan)) // workers of servers are alone
      expectSame(named.name, std::move(named.plan));
  expectSame("side by side", sideBySidePlan());
  for (unsigned seed = 0; seed < 40; ++seed)
    expectSame("random " + std::to_string(seed), randomPlan(seed));
}

/// A sum of `size` bytes on two devices.
plan::PlanT sumOf(int64_t size) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 2 * size, {"data"}),
           sum = maker.buffer("sum", uint64_t(size));
  maker.sum("sum", all, x, sum);
  maker.setResult(maker.slot("sum", plan::SlotRole::result, size), sum);
  return maker.finish();
}

/// This process's part of a plan for two devices.
std::unique_ptr<Process> load(plan::PlanT plan) {
  std::shared_ptr<ProcessGroup> group = openMpiGroup();
  return std::make_unique<Process>(std::make_shared<const plan::PlanT>(std::move(plan)),
                                   std::make_shared<MessageCollectives>(group, 1),
                                   devicesFrom(group->process(), 1), 1);
}

/// 8 MiB to the other process, which MPI sends once that asks for it.
TEST(Mpi, SendsLargeMessages) { expectSame("large", sumOf(int64_t(16) << 20)); }

/// One process loads another plan while the other one waits for a step.
TEST(Mpi, LoadsAPlanWhileAStepRuns) {
  if (openMpiGroup()->numProcesses() != 2)
    GTEST_SKIP() << "for two processes";
  std::unique_ptr<Process> first = load(sumOf(int64_t(16) << 20)), second;
  MPI_Barrier(MPI_COMM_WORLD);
  bool isEarly = openMpiGroup()->process() == 0;
  first->submit();
  if (isEarly)
    second = load(sumOf(64));
  EXPECT_EQ(first->wait(), "");
  if (!isEarly)
    second = load(sumOf(64));
  second->submit();
  EXPECT_EQ(second->wait(), "");
}

/// Receives and sends that are given up in the midst: neither waits, and what MPI still has stays where it
/// is.
TEST(Mpi, GivesUpWithoutWaiting) {
  if (openMpiGroup()->numProcesses() != 2)
    GTEST_SKIP() << "for two processes";
  bool isStopped = openMpiGroup()->process() == 0;
  {
    std::unique_ptr<Process> process = load(sumOf(int64_t(16) << 20));
    MPI_Barrier(MPI_COMM_WORLD);
    if (isStopped) { // the other one never begins
      process->submit();
      while (process->plan().collectives().waiting().size() < 2)
        std::this_thread::yield();
      process->stop("as asked");
      EXPECT_EQ(process->wait(), "as asked");
      process->submit();
      EXPECT_THAT(process->wait(), testing::HasSubstr("a step before was broken off"));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace
} // namespace epl::runtime::test

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  int code = 1;
  try {
    epl::runtime::openMpiGroup();
    code = RUN_ALL_TESTS();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  if (code == 0)
    epl::runtime::finalizeMpi();
  else
    MPI_Abort(MPI_COMM_WORLD, code); // messages may be open, for which MPI would wait
  return code;
}
