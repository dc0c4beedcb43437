#include "Prices.h"

#include "Machine.h"
#include "Units.h"

#include "tools/Tool.h"

#include "runtime/Error.h"
#include "runtime/machine/MachineFile.h"
#include "runtime/plan/model/Parts.h"

namespace epl::runtime::tool {

static constexpr const char *kDefaultCard = "h100";

std::vector<CLI::Option *> addMachineOptions(CLI::App &command, MachineOptions &options) {
  CLI::Option *gflops = command.add_option("--gflops", options.gflops,
                                           "Peak of a device in 10^9 operations a second; default: measured "
                                           "with the library of matrix products, of GPUs as --card says");
  CLI::Option *gbps = command.add_option("--gbps", options.gbps,
                                         "Bandwidth of a device in 10^9 bytes a second; default: measured by "
                                         "copying memory, of GPUs as --card says");
  CLI::Option *card =
      command.add_option("--card", options.card,
                         "Of a plan for GPUs, the card that times are predicted for: a100, h100 (default), "
                         "h200, b200, or a file as epl-plan machine --kind prints it");
  gflops->check(isPositive());
  gbps->check(isPositive());
  card->type_name("KIND|FILE")->excludes(gflops)->excludes(gbps);
  return {gflops, gbps, card};
}

/// Of a roofline of two numbers.
static Prices pricesByNumbers(const plan::PlanT &plan, const MachineOptions &options) {
  bool areGiven = options.gflops > 0 && options.gbps > 0;
  Machine machine{.gflops = options.gflops > 0 ? options.gflops : measureGflops(),
                  .gbps = options.gbps > 0 ? options.gbps : measureGbps()};
  Prices prices;
  prices.machine = numberText(machine.gflops) + " GF/s and " + numberText(machine.gbps) + " GB/s a device (" +
                   (areGiven ? "as given" : "measured here, on one core, where not given") + ")";
  for (const plan::PlanT *part : meshPlansOf(plan)) {
    Mesh mesh(*part);
    std::vector<Price> &own = prices.commands.emplace_back();
    for (const auto &command : part->commands) {
      Cost cost = costOf(*part, mesh, *command);
      own.push_back({machine.nanoseconds(cost), machine.computeNanoseconds(cost),
                     machine.isComputeBound(cost) ? "flops" : "bytes"});
    }
  }
  return prices;
}

static machine::Machine cardOf(const std::string &kindOrFile) {
  machine::MachineOrError read = machine::readMachine(kindOrFile.empty() ? kDefaultCard : kindOrFile);
  if (const auto *error = std::get_if<std::string>(&read))
    throw Error(*error);
  auto &found = std::get<machine::Machine>(read);
  if (found.isGpu())
    return found;
  throw Error("--card: a machine of kind \"" + found.kind + "\" is no GPU, expected one of " +
              machine::machineKinds(/*ofGpus=*/true) + ", or a file of such a kind");
}

static std::string describe(const machine::Machine &card) {
  auto flops = [](int64_t multiplyAdds) { return flopsText(2 * double(multiplyAdds)) + "/s"; };
  auto rate = [](int64_t bytes) { return bytesText(double(bytes)) + "/s"; };
  auto time = [](int64_t nanoseconds) { return timeText(double(nanoseconds)); };
  return card.kind + ", " + std::to_string(card.gpu.multiprocessors) + " multiprocessors of sm_" +
         std::to_string(card.gpu.architecture) + ": " + flops(card.compute.f32) + " of f32, " +
         flops(card.compute.f16) + " of f16 and bf16 in products, " + flops(card.compute.f64) + " of f64, " +
         rate(card.memory.bytesPerSecond) + " behind " + time(card.memory.latencyNs) + ", links of " +
         rate(card.withinProcess.bytesPerSecond) + " behind " + time(card.withinProcess.latencyNs) + ", " +
         rate(card.gpu.hostBytesPerSecond) + " from and to the host, a launch " + time(card.gpu.launchNs);
}

static Prices pricesByCard(const plan::PlanT &plan, const MachineOptions &options, Enqueued enqueued) {
  machine::Machine card = cardOf(options.card);
  Prices prices{.commands = {}, .machine = describe(card), .card = card.kind};
  prices.machine += options.card.empty() ? " (which --card may change)" : "";
  for (const std::vector<CommandTime> &times : timesOnCards(plan, card, enqueued, options.devices)) {
    std::vector<Price> &own = prices.commands.emplace_back();
    for (const CommandTime &time : times)
      own.push_back({time.nanoseconds, time.compute, limitName(time.limit)});
  }
  return prices;
}

Prices pricesOf(const plan::PlanT &plan, const MachineOptions &options, Enqueued enqueued) {
  bool isGpu = plan.device_kind == "cuda";
  if (!isGpu && !(options.card + options.devices).empty())
    throw Error(std::string(options.card.empty() ? "--devices" : "--card") + ": the plan is for \"" +
                plan.device_kind + "\" devices, expected a plan for GPUs");
  if (isGpu && (options.gflops > 0) != (options.gbps > 0))
    throw Error("the plan is for GPUs, which are not measured here: expected both --gflops and --gbps, or a "
                "--card");
  return isGpu && options.gflops == 0 ? pricesByCard(plan, options, enqueued)
                                      : pricesByNumbers(plan, options);
}

double totalOf(const std::vector<Price> &prices) {
  double total = 0;
  for (const Price &price : prices)
    total += price.nanoseconds;
  return total;
}

std::vector<std::vector<double>> nanosecondsOf(const Prices &prices) {
  std::vector<std::vector<double>> nanoseconds;
  for (const std::vector<Price> &part : prices.commands) {
    nanoseconds.emplace_back();
    for (const Price &price : part)
      nanoseconds.back().push_back(price.nanoseconds);
  }
  return nanoseconds;
}

} // namespace epl::runtime::tool
