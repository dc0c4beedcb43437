#include "Explain.h"

#include "CardReport.h"
#include "Columns.h"
#include "Shardings.h"
#include "Units.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Cost.h"
#include "runtime/plan/model/Lifetime.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Parts.h"
#include "runtime/plan/model/Summary.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

namespace epl::runtime::tool {
namespace {

constexpr size_t kRows = 10; // of the table of kernels
constexpr size_t kNameWidth = 22, kSourceWidth = 14, kLimitWidth = 5;

/// The end of a source line's path: ".../digits.py:57" is more use than its beginning.
std::string sourceText(const std::string &location) {
  std::string file = location.substr(location.rfind('/') + 1);
  return file.size() > kSourceWidth ? ".." + file.substr(file.size() - kSourceWidth + 2) : file;
}

/// The phase of computations, else what kind of command it is.
std::string phaseOf(const plan::CommandT &command) {
  std::string phase = phaseName(command);
  CommandKind kind = kindOf(command);
  return phase.empty() || kind == CommandKind::collective ? kindName(kind) : phase;
}

/// Commands that are shown as one: launches of a kernel.
struct Group {
  std::string name, source;
  CommandKind kind;
  uint32_t first; // command
  size_t calls = 0;
  Cost cost{};
  double best = 0;                        // nanoseconds on the machine model
  double compute = 0;                     // of its arithmetic alone
  double time = 0;                        // nanoseconds, measured or as `best`
  std::map<std::string, double> limits{}; // and the time of those with each
};

class Explainer {
public:
  /// Of a part of a plan. `measured`: what each command took, or null.
  Explainer(const plan::PlanT &plan, const Prices &model, const std::vector<Price> &prices,
            const std::vector<double> *measured)
      : plan(plan), model(model), prices(prices), measured(measured), mesh(plan), summary(summarize(plan)) {
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      addCommand(command);
    std::ranges::sort(groups, {}, [](const Group &group) { return std::pair(-group.time, group.first); });
  }

  std::string run() {
    out << plan.layout << "\na step of a device: " << plan.commands.size() << " commands ("
        << summary.launches << " launches of " << summary.kernels << " kernels, " << summary.contractions
        << " library calls, " << summary.collectives << " collectives";
    if (summary.transfers != 0)
      out << ", " << summary.transfers << " receives";
    out << ")\n";
    auto isGuarded = [](const auto &command) { return !command->guards.empty(); };
    if (auto guarded = std::ranges::count_if(plan.commands, isGuarded))
      out << guarded << " of them are in branches, shown as if all were taken"
          << (measured ? " that the timeline has" : "") << '\n';
    explainMemory();
    explainHoldings();
    explainMachine();
    explainKernels();
    explainCollectives();
    return out.str();
  }

private:
  void addCommand(uint32_t index) {
    const plan::CommandT &command = *plan.commands[index];
    Cost cost = costOf(plan, mesh, command);
    Group &group = groupOf(index);
    ++group.calls;
    group.cost.flops += cost.flops;
    group.cost.bytes += cost.bytes;
    const Price &price = prices[index];
    group.best += price.nanoseconds;
    group.compute += price.compute;
    group.limits[price.limit] += price.nanoseconds;
    group.time += timeOf(index);
  }

  /// Kernels and copies are grouped by name; collectives have a table of their own.
  Group &groupOf(uint32_t index) {
    const plan::CommandT &command = *plan.commands[index];
    auto [place, isNew] = named.try_emplace(command.name, groups.size());
    if (!isNew)
      return groups[place->second];
    return groups.emplace_back(Group{command.name, sourceText(command.location), kindOf(command), index});
  }

  void explainMemory() {
    uint64_t slots = 0, temporaries = 0, copied = 0, results = 0;
    for (const auto &slot : plan.slots)
      results += slot->in_host && slot->role == plan::SlotRole::result && slot->updates < 0
                     ? localBytes(plan, *slot)
                     : 0;
    for (uint32_t index = 0; index < plan.buffers.size(); ++index)
      if (const plan::BufferT &buffer = *plan.buffers[index];
          buffer.view_of < 0 && hostSlotOf(plan, index) < 0)
        (buffer.slot >= 0 ? slots : temporaries) += buffer.size;
    for (const auto &command : plan.commands)
      if (const plan::CopyT *copy = command->action.AsCopy();
          copy && (hostSlotOf(plan, copy->source) >= 0 || hostSlotOf(plan, copy->target) >= 0))
        copied += copy->size;
    Peak peak = peakOf(plan);
    auto line = [&](uint64_t bytes) -> std::ostream & {
      return out << right(bytesText(double(bytes)), 10) << "  ";
    };
    out << "\nmemory of a device\n";
    line(slots) << "arguments and results\n";
    line(summary.stateBytes - summary.hostBytes) << "states, kept between steps\n";
    if (summary.hostBytes != 0)
      line(summary.hostBytes) << "states in memory of the host\n";
    if (results != 0)
      line(results) << "results in memory of the host\n";
    if (copied != 0)
      line(copied) << "copied from and to the host in a step\n";
    line(plan.arena_size) << "arena, for " << bytesText(double(temporaries)) << " of temporaries\n";
    if (peak.bytes == 0)
      return;
    line(peak.bytes) << "of it in use at the peak, " << commandName(plan, peak.command) << ":\n";
    // From which phase to which: activations live from forward to backward, gradients from there to apply.
    std::map<std::pair<std::string, std::string>, std::pair<uint64_t, size_t>> spans;
    for (const Lifetime &lifetime : peak.live) {
      auto &[bytes, count] =
          spans[{phaseOf(*plan.commands[lifetime.first]), phaseOf(*plan.commands[lifetime.last])}];
      bytes += plan.buffers[lifetime.buffer]->size;
      ++count;
    }
    for (const auto &[phases, total] : spans)
      out << right(bytesText(double(total.first)), 14) << "  made in " << phases.first << ", last used in "
          << phases.second << " (" << total.second << (total.second == 1 ? " buffer)\n" : " buffers)\n");
  }

  bool isOfCard() const { return !model.card.empty(); }

  void explainMachine() {
    out << '\n' << wrapped("machine model: " + model.machine, 0, kLineWidth);
    if (measured)
      out << "times: measured, the median of steps and devices; of roof: model / measured (caches give over "
             "100 %)\n";
    else if (isOfCard())
      out << "times: predicted, launches and the longest of what the limits are; no card has shown them\n";
    else
      out << "times: estimates, the longer of flops / peak and bytes / bandwidth; --trace=FILE shows "
             "measured\n";
    if (isOfCard())
      out << limitsTable(prices) << kindsTable(plan, prices, measured);
  }

  void explainKernels() {
    double total = 0;
    std::vector<const Group *> kernels;
    for (const Group &group : groups) {
      total += group.time;
      if (group.kind == CommandKind::compute)
        kernels.push_back(&group);
    }
    size_t shown = std::min(kRows, kernels.size());
    out << "\nthe " << shown << " most expensive of " << kernels.size()
        << " kernels; all commands: " << timeText(total) << '\n'
        << "  share     time calls    flops    bytes  GF/s " << left("limit", limitWidth())
        << (measured ? "  of roof  " : "  of peak  ") << left("kernel", nameWidth()) << " source\n";
    double rest = 0;
    for (size_t i = 0; i < kernels.size(); ++i)
      if (i < shown)
        kernelRow(*kernels[i], total);
      else
        rest += kernels[i]->time;
    if (kernels.size() > shown)
      out << right(percentText(ratio(rest, total)), 7) << right(timeText(rest), 9) << "  the others\n";
  }

  void kernelRow(const Group &group, double total) {
    // Without measurements: how much of the peak the other limits leave.
    double reach = measured ? ratio(group.best, group.time) : ratio(group.compute, group.best);
    auto limit = std::ranges::max_element(group.limits, {}, &std::pair<const std::string, double>::second);
    out << right(percentText(ratio(group.time, total)), 7) << right(timeText(group.time), 9)
        << right(std::to_string(group.calls), 6) << right(flopsText(double(group.cost.flops)), 9)
        << right(bytesText(double(group.cost.bytes)), 9)
        << right(numberText(ratio(double(group.cost.flops), group.time)), 6) << ' '
        << left(limit->first, limitWidth()) << right(percentText(reach), 9) << "  "
        << left(group.name, nameWidth()) << ' ' << group.source << '\n';
  }

  void explainHoldings() {
    if (plan.devices < 2)
      return;
    out << "\nwho holds what; [8/data, 4]: a device has its part along \"data\"; alike ones together\n"
        << "    bytes  part  role      tensor\n";
    for (const Holding &holding : holdingsOf(plan)) {
      std::string part = holding.shares == 1 ? "all" : "1/" + std::to_string(holding.shares);
      std::string count = holding.tensors == 1 ? "" : ", " + std::to_string(holding.tensors) + " of them";
      out << right(bytesText(double(holding.bytes)), 9) << right(part, 6) << "  "
          << left(plan::EnumNameSlotRole(holding.role), 8) << "  " << holding.name << ' ' << holding.tensor
          << count << '\n';
    }
  }

  double timeOf(uint32_t command) const {
    return measured ? (*measured)[command] : prices[command].nanoseconds;
  }
  size_t limitWidth() const { return isOfCard() ? std::string_view("parallelism").size() : kLimitWidth; }
  size_t nameWidth() const { return kNameWidth + kLimitWidth - limitWidth(); }

  void explainCollectives() {
    std::vector<Exchange> exchanges = exchangesOf(plan);
    if (exchanges.empty())
      return;
    double total = 0;
    for (const Exchange &exchange : exchanges)
      for (uint32_t command : exchange.commands)
        total += timeOf(command);
    out << "\ncollectives: " << summary.collectives
        << (summary.transfers != 0 ? " and receives: " + std::to_string(summary.transfers) : "")
        << ", a device receives " << bytesText(double(summary.receivedBytes)) << ", " << timeText(total)
        << "; in program order, alike ones together\n"
        << "  calls  received      time   GB/s  devices  collective\n";
    for (const Exchange &exchange : exchanges)
      exchangeRow(exchange);
  }

  void exchangeRow(const Exchange &exchange) {
    double time = 0, bytes = 0;
    for (uint32_t command : exchange.commands) {
      time += timeOf(command);
      bytes += double(costOf(plan, mesh, *plan.commands[command]).bytes);
    }
    out << right(std::to_string(exchange.calls), 7) << right(bytesText(double(exchange.received)), 10)
        << right(timeText(time), 10) << right(numberText(ratio(bytes, time)), 7)
        << right(std::to_string(exchange.members), 9) << "  " << exchange.kind << ' ' << exchange.route
        << (exchange.work.empty() ? "" : ", " + exchange.work) << '\n';
    if (!exchange.cause.empty())
      out << wrapped(exchange.cause, 9, kLineWidth);
  }

  const plan::PlanT &plan;
  const Prices &model;
  const std::vector<Price> &prices;
  const std::vector<double> *measured;
  Mesh mesh;
  Summary summary;
  std::vector<Group> groups;
  std::map<std::string, size_t> named; // group of each kernel
  std::ostringstream out;
};

} // namespace

std::string explainPlan(const plan::PlanT &plan, const ExplainOptions &options) {
  std::vector<const plan::PlanT *> parts = meshPlansOf(plan);
  auto explain = [&](size_t part) {
    return Explainer(*parts[part], options.prices, options.prices.commands[part],
                     options.measured.empty() ? nullptr : &options.measured[part])
        .run();
  };
  if (plan.parts.empty())
    return explain(0);
  std::string text = plan.layout + "\n";
  for (size_t part = 0; part < parts.size(); ++part)
    text += "\n== part " + std::to_string(part) + " of " + std::to_string(parts.size()) + ", on " +
            deviceNames(plan, *plan.parts[part]) + "\n" + explain(part);
  return text;
}

} // namespace epl::runtime::tool
