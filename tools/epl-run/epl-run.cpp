// epl-run: runs the steps of a plan, without Python and without the compiler, and compares them with a
// reference.

#include "Comparison.h"
#include "Element.h"
#include "Inputs.h"
#include "tools/Tool.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Outside.h"
#include "runtime/plan/model/Summary.h"
#include "runtime/plan/verify/ReadVerified.h"
#include "runtime/session/Session.h"

#include <cmath>
#include <sstream>

namespace {

using namespace epl::runtime;
using namespace epl::runtime::tool;

struct Options {
  std::string plan, reference, devices, inputs = "random:0", trace, outputs;
  int steps = 1;
  int64_t integerRange = 10;
  Tolerance tolerance{1e-5, 1e-6};
};

/// A plan on its devices and the values that its next step takes.
class Run {
public:
  Run(const std::string &path, const std::string &devices)
      : plan(std::make_shared<plan::PlanT>(readPlan(path))),
        session(plan, devices.empty() ? devicesText(*plan) : devices), arguments(session.numArguments()) {}

  void set(size_t slot, const HostTensor &value) {
    bool isPulled = plan->slots[slot]->role == plan::SlotRole::pulled;
    arguments[slot] = isPulled ? Argument(Pulled()) : Argument(value);
    if (isPulled)
      pulled.insert_or_assign(uint32_t(slot), value);
  }

  /// Runs a step; its states are arguments of the next one. Gives the results, computed, and what it pushes.
  std::vector<HostTensor> step() {
    auto outside = hasOutside(*plan) ? std::make_shared<OutsideTensors>(pulled) : nullptr;
    Outcome outcome =
        session.call(arguments, std::vector<bool>(arguments.size(), true), "step", /*waits=*/false, outside);
    outcome.call->wait();
    std::vector<HostTensor> results;
    for (size_t i = 0; i < outcome.results.size(); ++i) {
      const plan::SlotT &slot = *plan->slots[arguments.size() + i];
      if (const auto *state = std::get_if<std::shared_ptr<StateBuffer>>(&outcome.results[i])) {
        arguments[slot.updates] = *state;
        results.push_back((*state)->toHost());
      } else {
        results.push_back(std::get<std::shared_ptr<HostResult>>(outcome.results[i])->get());
      }
    }
    for (size_t slot = arguments.size() + results.size(); slot < plan->slots.size(); ++slot)
      results.push_back(outside->pushes().at(uint32_t(slot)));
    return results;
  }

  const std::shared_ptr<const plan::PlanT> plan;
  Session session;

private:
  std::vector<Argument> arguments;
  std::map<uint32_t, HostTensor> pulled; // by slot
};

/// Prints the results that are one number: a loss, an accuracy.
void printNumbers(const Run &run, int step, const std::vector<HostTensor> &results) {
  std::ostringstream line;
  std::string separator = "step " + std::to_string(step) + ": ";
  for (size_t i = 0; i < results.size(); ++i) {
    const plan::SlotT &slot = *run.plan->slots[run.session.numArguments() + i];
    if (slot.updates >= 0 || results[i].type.bytes() != elementBytes(slot.type))
      continue;
    line << separator << "\"" << slot.name << "\" = " << loadElement(results[i], 0);
    separator = ", ";
  }
  if (!line.str().empty())
    print(line.str() + "\n");
}

ExitCode execute(const Options &options) {
  Run run(options.plan, options.devices);
  std::optional<Run> reference;
  std::optional<Comparison> comparison;
  if (!options.reference.empty()) {
    reference.emplace(options.reference, "");
    comparison.emplace(*run.plan, *reference->plan, options.tolerance);
  }
  Inputs inputs(options.inputs, options.integerRange);
  run.session.trace(!options.trace.empty());
  std::vector<HostTensor> results;
  for (int step = 1; step <= options.steps; ++step) {
    results.clear(); // views of states would keep the step from updating them in place
    for (size_t slot = 0; slot < run.session.numArguments(); ++slot) {
      const plan::SlotT &source = *run.plan->slots[slot];
      if (step > 1 && source.role != plan::SlotRole::batch)
        continue;
      HostTensor value = inputs.next(*run.plan, slot);
      run.set(slot, value);
      if (reference)
        reference->set(slot, value);
    }
    results = run.step();
    printNumbers(run, step, results);
    if (reference) {
      std::vector<HostTensor> expected = reference->step();
      for (size_t i = 0; i < results.size(); ++i)
        comparison->add(run.session.numArguments() + i, step, results[i], expected[i]);
    }
  }
  for (size_t i = 0; i < results.size() && !options.outputs.empty(); ++i)
    writeOutput(options.outputs, run.session.numArguments() + i, results[i]);
  if (!options.trace.empty())
    writeFile(options.trace, run.session.traceJson());
  std::ostringstream report;
  bool isGood = !comparison || comparison->report(report);
  print(report.str());
  return isGood ? good : failed;
}

/// CLI11's own check of numbers lets NaN pass.
std::string checkTolerance(const std::string &text) {
  double value = NAN;
  bool isNumber = CLI::detail::lexical_cast(text, value);
  bool isGood = isNumber && std::isfinite(value) && value >= 0;
  return isGood ? "" : "\"" + text + "\" is not a finite number of at least 0";
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs the steps of a plan that epl-compile wrote.", "epl-run");
  app.footer("Exit codes: 0 all went well, 1 an error or a difference beyond the tolerance, 2 wrong usage, "
             "3 no driver for the plan's GPUs.");
  app.add_option("file", options.plan, "The plan file (.eplan)")->required();
  app.add_option("--devices", options.devices,
                 "What to run on, cpu:N or cuda:CARDS; default: what the plan is for");
  app.add_option("--inputs", options.inputs,
                 "random:SEED, or a folder with si.bin for the argument in slot i: its elements, row-major")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "How many steps to run; states go from each to the next")
      ->check(isPositive())
      ->capture_default_str();
  app.add_option("--int-range", options.integerRange, "Random integers are at least 0 and below this")
      ->check(isPositive())
      ->capture_default_str();
  app.add_option("--reference", options.reference,
                 "A plan of the same step (epl-compile --reference): every result of every step is compared");
  app.add_option("--rtol", options.tolerance.relative, "Relative tolerance of the comparison")
      ->check(checkTolerance, "FINITE>=0")
      ->capture_default_str();
  app.add_option("--atol", options.tolerance.absolute, "Absolute tolerance of the comparison")
      ->check(checkTolerance, "FINITE>=0")
      ->capture_default_str();
  app.add_option("--trace", options.trace, "Write a timeline for Perfetto to this file");
  app.add_option("--outputs", options.outputs, "Write the last step's results to this folder, as si.bin");
  return runTool(app, argc, argv, [&] { return execute(options); });
}
