// How long a large plan takes, stage by stage, for several sizes of it: unrolled training loops of 20
// commands and 5 buffers for each layer and iteration (test/unit/plan/TrainingLoop.h), with collectives over
// one and two axes.
//
//   plan_growth ROUNDS DATA COMMANDS...     DATA: length of the axis of data parallelism
//
// Prints for each stage {"what": stage, "seconds": {commands: [...], ...}}. "build" is all that the builder
// does.
#include "test/benchmarks/Report.h"

#include "test/unit/plan/TrainingLoop.h"

#include "runtime/plan/build/Edges.h"
#include "runtime/plan/build/Memory.h"
#include "runtime/plan/format/Reader.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Origins.h"
#include "runtime/plan/verify/Verifier.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <map>

namespace epl::benchmark {
namespace {

constexpr uint32_t layers = 8;

/// Seconds by stage and number of commands.
using Figures = std::map<std::string, std::map<std::string, std::vector<double>>>;

/// Of the processor: one thread does all, and others may use the machine meanwhile.
template <typename Work> double secondsOf(const Work &work) {
  std::clock_t begin = std::clock();
  work();
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

void measure(uint32_t commands, uint32_t data, Figures &figures) {
  runtime::plan::PlanT plan;
  std::vector<uint8_t> bytes;
  auto stage = [&](const char *name, const auto &work) {
    figures[name][std::to_string(commands)].push_back(secondsOf(work));
  };
  uint32_t iterations = commands / (layers * runtime::test::loopCommands);
  stage("build", [&] { plan = runtime::test::trainingLoop({iterations, layers, data}); });
  for (const auto &command : plan.commands)
    command->waits.clear();
  stage("origins", [&] { runtime::recordOrigins(plan); });
  stage("edges", [&] { runtime::addEdges(plan); });
  stage("elision", [&] { runtime::elideEdges(plan); });
  stage("memory", [&] { runtime::planMemory(plan); });
  stage("verify", [&] { runtime::requireValid(plan); });
  stage("write", [&] { bytes = runtime::serializePlan(plan); });
  stage("read", [&] { runtime::parsePlanUnverified(bytes, "growth"); });
}

} // namespace
} // namespace epl::benchmark

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  std::vector<uint32_t> numbers;
  std::transform(argv + 1, argv + argc, std::back_inserter(numbers),
                 [](const char *text) { return uint32_t(std::stoul(text)); });
  epl::benchmark::Figures figures;
  for (uint32_t round = 0; round < numbers[0]; ++round)
    for (size_t size = 2; size < numbers.size(); ++size)
      epl::benchmark::measure(numbers[size], numbers[1], figures);
  for (const auto &[stage, seconds] : figures)
    std::cout << nlohmann::json{{"what", stage}, {"seconds", seconds}}.dump() << std::endl;
}
