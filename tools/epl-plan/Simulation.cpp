#include "Simulation.h"

#include "Measured.h"
#include "Sensitivity.h"
#include "Shardings.h"
#include "Units.h"

#include "tools/Tool.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/model/Parts.h"
#include "runtime/plan/model/Units.h"
#include "runtime/plan/simulate/UnitTimes.h"

#include <nlohmann/json.hpp>

#include <numeric>
#include <sstream>

namespace epl::runtime::tool {

static constexpr double nanosecondsInMicrosecond = 1e3, nanosecondsInSecond = 1e9;

std::vector<CLI::Option *> addSimulationOptions(CLI::App &command, SimulationOptions &options) {
  std::vector<CLI::Option *> all = addMachineOptions(command, options.machine);
  command.add_option("--trace", options.trace,
                     "A timeline of this plan (compiled.trace, epl-run --trace): commands take the medians "
                     "of its times instead of estimates");
  command
      .add_option("--times", options.times,
                  "How many microseconds a stage's forward, input gradient and weight gradient take, its "
                  "whole backward as long as the last two; all else takes none: what the schedule alone "
                  "costs")
      ->delimiter(',')
      ->expected(3)
      ->type_name("F,I,W")
      ->check(isPositive().description(""));
  command
      .add_option("--speeds", options.speeds,
                  "For each mesh, how fast its devices are beside those that times are of: commands take "
                  "their time divided by that (default: all 1)")
      ->delimiter(',')
      ->type_name("MESH0,MESH1,...")
      ->check(isPositive().description(""));
  command
      .add_option("--link", options.link,
                  "How many microseconds a message to another mesh takes, beside its send and its "
                  "receive, or the answer with what a step pulls (default 0)")
      ->check(CLI::NonNegativeNumber.description(""));
  command
      .add_option(
          "--link-gbps", options.linkGbps,
          "10^9 bytes a second of messages that a device gets, and of what it pulls (default: no limit)")
      ->check(isPositive());
  command
      .add_option("--lanes", options.lanes,
                  "shared: one thread runs all lanes of a device, one command at a time; own: lanes run "
                  "side by side; auto (default): as the plan's kind of devices does")
      ->check(CLI::IsMember({"auto", "shared", "own"}));
  for (const char *name : {"--trace", "--times", "--speeds", "--link", "--link-gbps", "--lanes"})
    all.push_back(command.get_option(name));
  return all;
}

void checkHasUnits(const plan::PlanT &plan, const std::string &purpose) {
  if (tablesOf(plan).empty())
    throw Error("the plan has no units " + purpose + ": it was compiled for a step without micro-batches");
}

static schedule::Costs costsOf(std::vector<double> times) {
  for (double &time : times)
    time *= nanosecondsInMicrosecond;
  return {.forward = times[0], .backward = times[1] + times[2], .input = times[1], .weight = times[2]};
}

static void setTimes(Simulation &simulation, const plan::PlanT &plan, const SimulationOptions &options) {
  if (!options.times.empty()) {
    checkHasUnits(plan, "that --times are of");
    schedule::Costs costs = costsOf(options.times);
    simulation.assumptions.nanoseconds = commandTimes(plan, costs);
    simulation.times = "F " + timeText(costs.forward) + ", I " + timeText(costs.input) + ", W " +
                       timeText(costs.weight) + ", B as I and W; no other command takes time";
  } else if (!options.trace.empty()) {
    Recording recording = readTimeline(plan, options.trace);
    simulation.assumptions.nanoseconds = std::move(recording.medians);
    simulation.recorded = std::move(recording.step);
    simulation.times = "measured, the median of steps and devices";
  } else {
    Prices prices = pricesOf(plan, options.machine, Enqueued::asGraph);
    simulation.assumptions.nanoseconds = nanosecondsOf(prices);
    simulation.times = "estimates for " + prices.machine;
  }
}

/// Devices of meshes that are faster, or slower, than those that the times are of.
static void setSpeeds(Simulation &simulation, const std::vector<double> &speeds) {
  std::vector<std::vector<double>> &nanoseconds = simulation.assumptions.nanoseconds;
  if (speeds.size() != nanoseconds.size())
    throw Error("--speeds has " + std::to_string(speeds.size()) + " numbers, expected one for each of " +
                std::to_string(nanoseconds.size()) + " meshes");
  for (size_t mesh = 0; mesh < speeds.size(); ++mesh) {
    for (double &time : nanoseconds[mesh])
      time /= speeds[mesh];
    simulation.times += (mesh == 0 ? "; divided by mesh by " : ", ") + numberText(speeds[mesh]);
  }
}

Simulation simulatePlan(const plan::PlanT &plan, const SimulationOptions &options) {
  Simulation simulation;
  setTimes(simulation, plan, options);
  if (!options.speeds.empty())
    setSpeeds(simulation, options.speeds);
  simulation.assumptions.link.nanoseconds = options.link * nanosecondsInMicrosecond;
  if (options.linkGbps)
    simulation.assumptions.link.gbps = *options.linkGbps;
  simulation.assumptions.lanesShareThread =
      options.lanes == "auto" ? lanesShareThread(plan) : options.lanes == "shared";
  simulation.run = simulate(plan, simulation.assumptions);
  return simulation;
}

std::vector<std::string> meshDevices(const plan::PlanT &plan) {
  std::vector<std::string> devices;
  devices.reserve(plan.parts.size());
  for (const auto &part : plan.parts)
    devices.push_back(deviceNames(plan, *part));
  if (devices.empty())
    devices.push_back(
        plan.device_kind + ":0" +
        (plan.devices > 1 ? " to " + plan.device_kind + ":" + std::to_string(plan.devices - 1) : ""));
  return devices;
}

std::string scheduleText(const plan::PlanT &plan) {
  std::map<uint32_t, schedule::Table> tables = tablesOf(plan);
  if (tables.empty())
    return "";
  auto [stages, microBatches] = schedule::extentsOf(tables.begin()->second);
  return "schedule " + meshPlansOf(plan).front()->schedule + " of " + std::to_string(stages) +
         (stages == 1 ? " stage and " : " stages and ") + std::to_string(microBatches) +
         (microBatches == 1 ? " micro-batch" : " micro-batches");
}

static std::string causeText(WaitFor wait) {
  std::string mesh = " mesh " + std::to_string(wait.mesh);
  switch (wait.cause) {
  case WaitCause::message:
    return "messages from" + mesh;
  case WaitCause::room:
    return "room for messages to" + mesh;
  case WaitCause::pull:
    return "what is pulled";
  case WaitCause::collective:
    return "collectives";
  case WaitCause::copy:
    return "copies";
  case WaitCause::end:
    return "the end of the step";
  }
  return "";
}

static std::string meshText(const MeshRun &mesh, double makespan, uint32_t kept) {
  std::ostringstream text;
  text << "  busy " << timeText(mesh.busy) << ", " << percentText(makespan > 0 ? mesh.busy / makespan : 0);
  if (kept != 0)
    text << "; keeps " << kept << (kept == 1 ? " micro-batch" : " micro-batches") << " at most";
  text << '\n';
  for (const auto &[cause, time] : mesh.waits)
    text << "  waits " << timeText(time) << " for " << causeText(cause) << '\n';
  return text.str();
}

static std::string assumptionsText(const Simulation &simulation) {
  const Assumptions &assumptions = simulation.assumptions;
  bool hasLimit = assumptions.link.gbps < std::numeric_limits<double>::infinity();
  return "times of commands: " + simulation.times +
         "\nbetween meshes: " + timeText(assumptions.link.nanoseconds) + " a message" +
         (hasLimit ? " and " + numberText(assumptions.link.gbps) + " GB/s" : "") +
         ", beside its send and its receive\nlanes of a device: " +
         (assumptions.lanesShareThread ? "run by one thread, which has a core of its own\n"
                                       : "run side by side\n");
}

/// The mean time of forward units; 0 if there are none.
static double forwardTime(const schedule::Run &units) {
  double sum = 0, count = 0;
  for (const std::vector<schedule::Span> &spans : units.spans)
    for (const schedule::Span &span : spans)
      if (span.unit.kind == schedule::Kind::forward) {
        sum += span.end - span.begin;
        ++count;
      }
  return count > 0 ? sum / count : 0;
}

static std::string growthText(const plan::PlanT &plan, const Simulation &simulation, double forward) {
  auto withLink = [&](double link) {
    Assumptions assumptions = simulation.assumptions;
    assumptions.link.nanoseconds = link;
    PlanRun run = simulate(plan, assumptions);
    return Figures{run.makespan, run.bubble()};
  };
  return sensitivityText(forward, withLink, timeText);
}

std::string describeSimulation(const plan::PlanT &plan, const Simulation &simulation) {
  const PlanRun &run = simulation.run;
  schedule::Run units = unitsOf(plan, run);
  std::ostringstream text;
  text << plan.layout << '\n';
  if (std::string schedule = scheduleText(plan); !schedule.empty())
    text << schedule << '\n';
  text << assumptionsText(simulation) << "\nmakespan " << timeText(run.makespan) << ", bubble "
       << percentText(run.bubble()) << '\n';
  if (simulation.recorded)
    text << "measured " << timeText(simulation.recorded->makespan) << ", "
         << numberText(simulation.recorded->makespan / run.makespan) << " times that; the median of steps\n";
  std::vector<std::string> devices = meshDevices(plan);
  for (size_t mesh = 0; mesh < run.meshes.size(); ++mesh)
    text << "\nmesh " << mesh << ", " << devices[mesh] << '\n'
         << meshText(run.meshes[mesh], run.makespan, units.kept[mesh]);
  if (double forward = forwardTime(units); forward > 0 && !plan.parts.empty())
    text << '\n' << growthText(plan, simulation, forward);
  return text.str();
}

std::string simulationJson(const plan::PlanT &plan, const Simulation &simulation) {
  using Json = nlohmann::ordered_json;
  const PlanRun &run = simulation.run;
  std::vector<std::string> devices = meshDevices(plan);
  std::vector<uint32_t> kept = unitsOf(plan, run).kept;
  Json meshes = Json::array();
  for (size_t mesh = 0; mesh < run.meshes.size(); ++mesh) {
    Json waits = Json::object();
    for (const auto &[cause, time] : run.meshes[mesh].waits)
      waits[causeText(cause)] = time / nanosecondsInSecond;
    meshes.push_back({{"devices", devices[mesh]},
                      {"busy", run.meshes[mesh].busy / nanosecondsInSecond},
                      {"kept", kept[mesh]},
                      {"waits", std::move(waits)}});
  }
  Json measured;
  if (simulation.recorded)
    measured = simulation.recorded->makespan / nanosecondsInSecond;
  return Json{{"makespan", run.makespan / nanosecondsInSecond},
              {"bubble", run.bubble()},
              {"measured", std::move(measured)},
              {"meshes", std::move(meshes)}}
             .dump(2) +
         "\n";
}

} // namespace epl::runtime::tool
