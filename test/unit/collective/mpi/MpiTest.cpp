// Plans over processes that mpirun has started: every byte of every rank is what one process has.
//
//   mpirun -n 2 EplMpiTests        all processes run the same tests in the same order

#include "test/unit/collective/messages/Processes.h"
#include "test/unit/plan/Plans.h"

#include "runtime/collective/inproc/Inproc.h"
#include "runtime/collective/messages/MessageCollectives.h"
#include "runtime/collective/mpi/MpiGroup.h"

#include <gtest/gtest.h>

#include <mpi.h>

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
    expectSame(named.name, std::move(named.plan));
  expectSame("side by side", sideBySidePlan());
  for (unsigned seed = 0; seed < 40; ++seed)
    expectSame("random " + std::to_string(seed), randomPlan(seed));
}

/// 8 MiB to the other process, which MPI sends once that asks for it.
TEST(Mpi, SendsLargeMessages) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  constexpr int64_t size = int64_t(16) << 20;
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 2 * size, {"data"}),
           sum = maker.buffer("sum", size);
  uint32_t result = maker.slot("sum", plan::SlotRole::result, size);
  maker.sum("sum", all, x, sum);
  maker.setResult(result, sum);
  expectSame("large", maker.finish());
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
  MPI_Finalize();
  return code;
}
