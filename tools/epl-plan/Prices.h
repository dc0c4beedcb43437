// What the commands of a plan take at best, by a model of its devices.
#ifndef EPL_TOOLS_EPL_PLAN_PRICES_H
#define EPL_TOOLS_EPL_PLAN_PRICES_H

#include "runtime/plan/simulate/CardTimes.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace epl::runtime::tool {

/// What is said of the devices. 0: to be measured here; "": nothing.
struct MachineOptions {
  double gflops = 0, gbps = 0; // of a device
  std::string card;            // of plans for GPUs: a kind or a machine file
  std::string devices;         // of plans for GPUs, what they run on if not as they say
};

/// The options of the programs that predict times.
std::vector<CLI::Option *> addMachineOptions(CLI::App &command, MachineOptions &options);

/// What a command takes, and why no less.
struct Price {
  double nanoseconds;
  double compute;    // what its arithmetic takes at the peak
  const char *limit; // "flops" or "bytes"; on GPUs as limitName has it
};

struct Prices {
  std::vector<std::vector<Price>> commands; // of each part
  std::string machine;                      // what they rest on, for people
  std::string card; // its kind, of plans for GPUs whose times are those of CardTimes.h
};

/// Of a plan on CPUs, and on any devices by two numbers, a roofline (Machine.h); else by the model of
/// CardTimes.h. Throws Error if the options do not fit the plan, or if a machine file is none.
Prices pricesOf(const plan::PlanT &plan, const MachineOptions &options, Enqueued enqueued);

/// Of all commands of a part, one after another.
double totalOf(const std::vector<Price> &prices);

/// The times alone.
std::vector<std::vector<double>> nanosecondsOf(const Prices &prices);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_PRICES_H
