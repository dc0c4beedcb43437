// Collectives between two processes, each with one device: how long they take, and what waiting costs.
//
//   mpirun -n 2 messages ROUNDS                  lines of JSON, printed by process 0
//   mpirun -n 2 messages ROUNDS BYTES COUNT      all-reduces of so many bytes alone, COUNT in a step
//
//   all_reduce BYTES     a sum of i8: seconds of each
//   late MILLISECONDS    process 1 begins so much later: seconds from its begin to the end of process 0, and
//                        the share of a core that process 0 used meanwhile
//   busy BYTES           a sum beside a kernel that needs longer, and a kernel behind both: seconds of the
//                        step beside those of one without the sum
#include "test/unit/collective/messages/Processes.h"
#include "test/unit/plan/Plans.h"

#include "runtime/collective/messages/MessageCollectives.h"
#include "runtime/collective/mpi/MpiGroup.h"

#include <chrono>
#include <iostream>
#include <mpi.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <thread>

namespace epl::benchmark {
namespace {

using namespace runtime;
using namespace runtime::test;
using Clock = std::chrono::steady_clock; // one for all processes of a machine

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto of = [](timeval time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// This process's part of a plan for two devices.
std::unique_ptr<Process> load(PlanMaker &maker) {
  std::shared_ptr<ProcessGroup> group = openMpiGroup();
  return std::make_unique<Process>(std::make_shared<const plan::PlanT>(maker.finish()),
                                   std::make_shared<MessageCollectives>(group, 1),
                                   devicesFrom(group->process(), 1), 1);
}

void step(Process &process) {
  process.submit();
  if (std::string error = process.wait(); !error.empty())
    throw std::runtime_error(error);
}

/// Sums one behind the other.
std::unique_ptr<Process> sums(int64_t bytes, uint32_t count) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 2 * bytes, {"data"});
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t sum = maker.buffer("sum", uint64_t(bytes));
    maker.sum("sum", all, x, sum);
    x = sum;
  }
  maker.setResult(maker.slot("sum", plan::SlotRole::result, bytes), x);
  return load(maker);
}

/// A kernel, and a sum beside it that another one reads, too.
std::unique_ptr<Process> busy(int64_t bytes, int64_t work, bool hasSum) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 2 * bytes, {"data"});
  uint32_t y = maker.argument("y", plan::SlotRole::batch, 2 * work, {"data"});
  uint32_t sum = x;
  if (hasSum)
    maker.sum("sum", all, x, sum = maker.buffer("sum", uint64_t(bytes)));
  uint32_t made = maker.buffer("made", 64), end = maker.buffer("end", 64);
  maker.run("work", {y}, {made});
  maker.run("end", {made, sum}, {end});
  maker.setResult(maker.slot("end", plan::SlotRole::result, 128, {"data"}), end);
  return load(maker);
}

void print(const std::string &what, const nlohmann::json &found) {
  if (openMpiGroup()->process() == 0)
    std::cout << nlohmann::json{{"what", what}, {"seconds", found}}.dump() << std::endl;
}

double timeOf(Process &process) {
  MPI_Barrier(MPI_COMM_WORLD);
  Clock::time_point begin = Clock::now();
  step(process);
  return seconds(Clock::now() - begin);
}

void measureAllReduce(int64_t bytes, uint32_t count, int rounds) {
  std::unique_ptr<Process> process = sums(bytes, count);
  std::vector<double> found;
  found.reserve(size_t(rounds));
  timeOf(*process);
  for (int round = 0; round < rounds; ++round)
    found.push_back(timeOf(*process) / count);
  print("all_reduce " + std::to_string(bytes), {{"each", found}});
}

void measureLate(int milliseconds, int rounds) {
  std::unique_ptr<Process> process = sums(64, 1);
  bool isLate = openMpiGroup()->process() == 1;
  std::vector<double> latency, cores;
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (isLate)
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    double used = cpuSeconds();
    Clock::time_point begin = Clock::now(), late = begin;
    step(*process);
    Clock::time_point end = Clock::now();
    used = cpuSeconds() - used;
    MPI_Bcast(&late, sizeof(late), MPI_BYTE, 1, MPI_COMM_WORLD);
    latency.push_back(seconds(end - late));
    cores.push_back(used / seconds(end - begin));
  }
  print("late " + std::to_string(milliseconds), {{"latency", latency}, {"cores", cores}});
}

void measureBusy(int64_t bytes, int rounds) {
  std::unique_ptr<Process> with = busy(bytes, int64_t(48) << 20, true),
                           without = busy(bytes, int64_t(48) << 20, false);
  std::vector<double> found, alone;
  for (int round = 0; round < rounds; ++round) {
    found.push_back(timeOf(*with));
    alone.push_back(timeOf(*without));
  }
  print("busy " + std::to_string(bytes), {{"with", found}, {"without", alone}});
}

void measureAll(int rounds) {
  measureAllReduce(64, 200, rounds);
  measureAllReduce(int64_t(1) << 20, 16, rounds);
  measureAllReduce(int64_t(64) << 20, 1, rounds);
  for (int milliseconds : {0, 2, 20, 200, 2000})
    measureLate(milliseconds, milliseconds > 200 ? 1 : rounds);
  measureBusy(int64_t(16) << 20, rounds);
}

} // namespace
} // namespace epl::benchmark

int main(int argc, char **argv) {
  using namespace epl::benchmark;
  if (argc != 2 && argc != 4)
    return 2;
  int rounds = int(std::strtol(argv[1], nullptr, 10));
  try {
    epl::runtime::openMpiGroup();
    if (argc == 4)
      measureAllReduce(std::strtoll(argv[2], nullptr, 10), uint32_t(std::strtoul(argv[3], nullptr, 10)),
                       rounds);
    else
      measureAll(rounds);
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  epl::runtime::finalizeMpi();
}
