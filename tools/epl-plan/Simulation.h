// What a plan's step takes, simulated.
#ifndef EPL_TOOLS_EPL_PLAN_SIMULATION_H
#define EPL_TOOLS_EPL_PLAN_SIMULATION_H

#include "Prices.h"

#include "runtime/plan/simulate/Simulate.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace epl::runtime::tool {

struct SimulationOptions {
  MachineOptions machine;
  std::string trace;          // a timeline that says what commands take instead
  std::vector<double> times;  // of F, I and W in microseconds, which say it instead; else empty
  std::vector<double> speeds; // of the devices of each mesh, beside those that times are of; empty: the same
  double link = 0;            // microseconds of a message
  std::optional<double> linkGbps;
  std::string lanes = "auto"; // shared, own
};

/// All of a simulation's options.
std::vector<CLI::Option *> addSimulationOptions(CLI::App &command, SimulationOptions &options);

/// A simulation, and what it rests on.
struct Simulation {
  Assumptions assumptions;
  std::string times; // what the times of commands are, for people
  PlanRun run;
  std::optional<PlanRun> recorded; // a step of the timeline
};

/// Needs a verified plan. Throws Error: a timeline that is none of the plan, times of units that it has not.
Simulation simulatePlan(const plan::PlanT &plan, const SimulationOptions &options);

/// Makespan, bubble, what each mesh does and waits for, and how that grows with the time of messages.
std::string describeSimulation(const plan::PlanT &plan, const Simulation &simulation);

/// The same but for the last as JSON, times in seconds.
std::string simulationJson(const plan::PlanT &plan, const Simulation &simulation);

/// The devices of each mesh: "cpu:1, cpu:2".
std::vector<std::string> meshDevices(const plan::PlanT &plan);

/// "schedule 1f1b of 2 stages and 8 micro-batches"; "" if there is no loop over micro-batches.
std::string scheduleText(const plan::PlanT &plan);

/// Throws Error if there is no loop over micro-batches; `purpose` says what asks for its units: "to draw".
void checkHasUnits(const plan::PlanT &plan, const std::string &purpose);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_SIMULATION_H
