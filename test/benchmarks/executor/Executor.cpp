// What a command costs that does nothing: plans of empty kernels beside the same graphs in oneTBB and OpenMP.
//
//   executor SIZE ROUNDS RUNS     SIZE: commands over all devices; RUNS: in a round
#include "Graph.h"

#include "TestPlan.h"

#include "runtime/session/Session.h"

#include <cstdlib>

namespace epl::benchmark {
namespace {

std::shared_ptr<const runtime::plan::PlanT> makePlan(const Program &program) {
  runtime::test::TestPlan plan(program.devices);
  std::vector<uint32_t> lanes = {0}; // lane 1 is that of the communicator
  for (const Command &command : program.commands) {
    while (command.lane >= lanes.size())
      lanes.push_back(plan.lane(runtime::plan::LaneKind::compute));
    std::vector<runtime::plan::Wait> waits;
    for (Command::Wait wait : command.waits)
      waits.push_back(wait.everywhere ? runtime::test::afterMembers(wait.command)
                                      : runtime::test::after(wait.command));
    plan.launch("nothing", 1, {}, waits, lanes[command.lane]);
  }
  return plan.finish();
}

Run ours(const Program &program) {
  auto session =
      std::make_shared<runtime::Session>(makePlan(program), runtime::test::devices(program.devices));
  return [session](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      (void)session->call({}, {}, "step");
    session->lastCall()->wait();
  };
}

void compare(const std::string &what, const Program &program, uint32_t rounds, uint32_t runs) {
  std::vector<Contender> contenders = {{"ours", ours(program)}};
  [[maybe_unused]] Graph graph = expand(program);
#ifdef EPL_HAS_TBB
  contenders.push_back({"oneTBB", flowGraph(graph, program.devices)});
#endif
#ifdef EPL_HAS_OPENMP
  contenders.push_back({"OpenMP", openMpTasks(graph, program.devices)});
#endif
  interleave(contenders, rounds, runs);
  report(what, contenders);
}

} // namespace
} // namespace epl::benchmark

int main(int argc, char **argv) {
  using epl::benchmark::Program;
  if (argc != 4)
    return 2;
  uint32_t size = uint32_t(std::atoi(argv[1])), rounds = uint32_t(std::atoi(argv[2])),
           runs = uint32_t(std::atoi(argv[3]));
  for (uint32_t devices : {1, 2}) {
    std::string where = devices == 1 ? "one device" : "two devices";
    epl::benchmark::compare("chain, " + where, Program::chain(devices, size), rounds, runs);
    epl::benchmark::compare("fan-out, " + where, Program::fanOut(devices, size), rounds, runs);
    epl::benchmark::compare("random DAG, " + where, Program::random(devices, size), rounds, runs);
  }
}
