// epl-plan: shows, draws and checks plan files and schedules, and measures the machine that plans are made
// for.

#include "Code.h"
#include "Explain.h"
#include "Graph.h"
#include "MachineFile.h"
#include "Measured.h"
#include "Render.h"
#include "RenderUnits.h"
#include "Schedule.h"
#include "Simulation.h"

#include "tools/Tool.h"

#include "runtime/plan/format/Reader.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/model/Summary.h"
#include "runtime/plan/verify/ReadVerified.h"
#include "runtime/plan/verify/Verifier.h"

#include <sstream>

namespace {

using namespace epl::runtime;
using namespace epl::runtime::tool;

struct Options {
  std::string plan, output, trace, devices = "cpu:2", kernel, kind;
  MachineOptions machine;
  bool units = false, text = false, graph = false; // what render draws, and how
  bool json = false;
  ScheduleOptions schedule;
  SimulationOptions simulation;
};

/// Prints a plan even if the verifier rejects it: then the text is what helps to see why.
ExitCode dump(const std::string &path) {
  plan::PlanT plan = parsePlanUnverified(readBytes(path), path);
  print(dumpPlan(plan));
  std::vector<std::string> messages = verifyPlan(plan);
  for (const std::string &message : messages)
    printError(message);
  return messages.empty() ? good : failed;
}

ExitCode verify(const std::string &path) {
  Summary summary = summarize(readPlan(path));
  std::ostringstream text;
  text << path << ": " << summary.layout << ", " << summary.kernels << " kernels, " << summary.launches
       << " launches, " << summary.contractions << " contractions, " << summary.collectives
       << " collectives, "
       << (summary.transfers != 0 ? std::to_string(summary.transfers) + " transfers, " : "") << "arena "
       << summary.arenaBytes << " bytes\n";
  print(text.str());
  return good;
}

void write(const std::string &text, const std::string &output) {
  if (output.empty())
    print(text);
  else
    writeFile({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, output);
}

/// The units of a step of the timeline if there is one, else simulated.
std::string renderUnits(const plan::PlanT &plan, const Options &options) {
  Simulation simulation = simulatePlan(plan, options.simulation);
  const PlanRun &run = simulation.recorded ? *simulation.recorded : simulation.run;
  std::string origin = simulation.recorded ? "recorded" : "simulated";
  return options.text ? unitsText(plan, run, origin) : unitsPicture(plan, run, origin);
}

ExitCode render(const Options &options) {
  plan::PlanT plan = readPlan(options.plan);
  const MachineOptions &machine = options.simulation.machine;
  bool isOfCard = plan.device_kind == "cuda" || !machine.card.empty();
  std::string text;
  if (options.units)
    text = renderUnits(plan, options);
  else if (options.graph)
    text = graphPlan(plan);
  else if (Prices prices; isOfCard) {
    prices = pricesOf(plan, machine, Enqueued::asGraph);
    text = renderPlan(plan, &prices);
  } else
    text = renderPlan(plan, nullptr);
  write(text, options.output);
  return good;
}

ExitCode ptx(const Options &options) {
  write(ptxOf(readPlan(options.plan), options.kernel), options.output);
  return good;
}

ExitCode simulate(const Options &options) {
  plan::PlanT plan = readPlan(options.plan);
  Simulation simulation = simulatePlan(plan, options.simulation);
  print(options.json ? simulationJson(plan, simulation) : describeSimulation(plan, simulation));
  return good;
}

ExitCode describeDevices(const Options &options) {
  write(options.kind.empty() ? measureMachine(Devices::parse(options.devices)) : tableOfMachine(options.kind),
        options.output);
  return good;
}

ExitCode schedule(const Options &options) {
  print(describeSchedule(options.schedule));
  return good;
}

ExitCode explain(const Options &options) {
  plan::PlanT plan = readPlan(options.plan);
  ExplainOptions explained;
  explained.prices =
      pricesOf(plan, options.machine, options.trace.empty() ? Enqueued::asGraph : Enqueued::oneByOne);
  if (!options.trace.empty())
    explained.measured = readTimeline(plan, options.trace).medians;
  print(explainPlan(plan, explained));
  return good;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Shows, draws and checks the plans that epl-compile writes, and measures what it chooses by.",
               "epl-plan");
  app.footer("Exit codes: 0 the plan is good, 1 it is not (or cannot be read), 2 wrong usage.");
  app.require_subcommand(1);
  Options options;
  CLI::App *dumpCommand = app.add_subcommand("dump", "Print a plan as text: tables, then lanes and commands");
  CLI::App *verifyCommand = app.add_subcommand(
      "verify", "Check a plan as the runtime does (sizes, races, use before definition) and print a summary");
  CLI::App *renderCommand = app.add_subcommand(
      "render",
      "Draw a plan as SVG: a row for each lane, a box for each command, an arrow for each wait; below, "
      "who holds what, and every collective with its bytes and the ops that are why. With --units its "
      "pipeline in time");
  CLI::App *explainCommand = app.add_subcommand(
      "explain",
      "Report what a plan costs: its memory, who holds what, its ten most expensive kernels, and its "
      "collectives with the ops that are why");
  CLI::App *machineCommand =
      app.add_subcommand("machine", "Measure what devices of this machine do, as a file for epl-compile "
                                    "--machine: multiply-adds, memory, and "
                                    "all-reduces within this process");
  CLI::App *scheduleCommand = app.add_subcommand(
      "schedule",
      "Print a pipeline's schedule as a table, with its timeline and what it costs, without a plan");
  addScheduleOptions(*scheduleCommand, options.schedule);
  CLI::App *simulateCommand = app.add_subcommand(
      "simulate", "Run a plan's commands in time, without devices, and report how long a step takes, what "
                  "each mesh waits for, and how that grows with the time of messages between meshes");
  CLI::App *ptxCommand = app.add_subcommand(
      "ptx", "Print the code of a plan's kernels for GPUs, as epl-compile --emit=ptx does");
  for (CLI::App *command :
       {ptxCommand, dumpCommand, verifyCommand, renderCommand, explainCommand, simulateCommand})
    command->add_option("file", options.plan, "The plan file (.eplan)")->required();
  ptxCommand->add_option("-o,--output", options.output, "The file to write; default: standard output");
  ptxCommand->add_option("--kernel", options.kernel,
                         "Only of the kernel of this name (k3_softmax), as explain and timelines have it");
  renderCommand->add_option("-o,--output", options.output, "The file to write; default: standard output");
  CLI::Option *units = renderCommand->add_flag(
      "--units", options.units,
      "Draw a row for each mesh and in it a box for each unit, the forward or backward work of a "
      "micro-batch, when it is done: as the simulation says, or in a step of the timeline of --trace");
  renderCommand->add_flag("--text", options.text, "As text instead of SVG")->needs(units);
  renderCommand
      ->add_flag(
          "--graph", options.graph,
          "Draw a graph in the language of Graphviz: a node for each command, an edge for each wait, and "
          "dotted ones along lanes")
      ->excludes(units);
  for (CLI::Option *option : addSimulationOptions(*renderCommand, options.simulation))
    if (!option->check_name("--card"))
      option->needs(units);
  addSimulationOptions(*simulateCommand, options.simulation);
  simulateCommand->add_flag("--json", options.json, "Print JSON, with times in seconds");
  machineCommand->add_option("-o,--output", options.output, "The file to write; default: standard output");
  machineCommand->add_option("--devices", options.devices, "The devices that exchange values, cpu:N")
      ->capture_default_str();
  machineCommand
      ->add_option(
          "--kind", options.kind,
          "Print the figures of a kind of devices instead of measuring: cpu, a100, h100, h200, b200; "
          "those of GPUs are from their data sheets, for a file to begin with")
      ->type_name("KIND")
      ->excludes("--devices");
  addMachineOptions(*explainCommand, options.machine);
  explainCommand->add_option("--devices", options.machine.devices,
                             "Of a plan for GPUs, the cards that times are predicted for (cuda:0-3), if they "
                             "are others than its layout says");
  explainCommand->add_option("--trace", options.trace,
                             "A timeline of this plan (compiled.trace, epl-run --trace): its times are shown "
                             "instead of estimates");
  return runTool(app, argc, argv, [&] {
    if (app.got_subcommand(dumpCommand))
      return dump(options.plan);
    if (app.got_subcommand(verifyCommand))
      return verify(options.plan);
    if (app.got_subcommand(ptxCommand))
      return ptx(options);
    if (app.got_subcommand(machineCommand))
      return describeDevices(options);
    if (app.got_subcommand(scheduleCommand))
      return schedule(options);
    if (app.got_subcommand(simulateCommand))
      return simulate(options);
    return app.got_subcommand(renderCommand) ? render(options) : explain(options);
  });
}
