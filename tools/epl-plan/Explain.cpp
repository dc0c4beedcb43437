#include "Explain.h"

#include "Units.h"

#include "runtime/plan/Lifetime.h"
#include "runtime/plan/Names.h"
#include "runtime/plan/Summary.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

namespace epl::runtime::tool {
namespace {

constexpr size_t kRows = 10; // of each table
constexpr size_t kNameWidth = 22, kSourceWidth = 14;

std::string right(const std::string &text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string left(const std::string &text, size_t width) {
  return text.size() > width ? text.substr(0, width - 2) + ".."
                             : text + std::string(width - text.size(), ' ');
}

/// The end of a source line's path: ".../digits.py:57" is more use than its beginning.
std::string sourceText(const std::string &location) {
  std::string file = location.substr(location.rfind('/') + 1);
  return file.size() > kSourceWidth ? ".." + file.substr(file.size() - kSourceWidth + 2) : file;
}

/// The phase, or what kind of command it is.
std::string phaseOf(const plan::CommandT &command) {
  std::string phase = phaseName(command);
  return phase.empty() ? kindName(kindOf(command)) : phase;
}

/// Commands that are shown as one: launches of a kernel, the two halves of an all-reduce.
struct Group {
  std::string name, source;
  CommandKind kind;
  uint32_t first;       // command
  uint32_t members = 1; // of a collective
  size_t calls = 0;
  Cost cost{};
  double best = 0; // nanoseconds on the machine model
  double time = 0; // nanoseconds, measured or the same
};

class Explainer {
public:
  Explainer(const plan::PlanT &plan, const ExplainOptions &options)
      : plan(plan), options(options), mesh(plan), summary(summarize(plan)) {
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      addCommand(command);
    std::ranges::sort(groups, {}, [](const Group &group) { return std::pair(-group.time, group.first); });
  }

  std::string run() {
    out << plan.layout << "\na step of a device: " << plan.commands.size() << " commands ("
        << summary.launches << " launches of " << summary.kernels << " kernels, " << summary.contractions
        << " library calls, " << summary.collectives << " collectives)\n";
    auto isGuarded = [](const auto &command) { return !command->guards.empty(); };
    if (auto guarded = std::ranges::count_if(plan.commands, isGuarded))
      out << guarded << " of them are in branches, shown as if all were taken"
          << (options.measured ? " that the timeline has" : "") << '\n';
    explainMemory();
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
    if (!isSecondHalf(command)) {
      ++group.calls;
      group.cost.payload += cost.payload;
    }
    group.cost.flops += cost.flops;
    group.cost.bytes += cost.bytes;
    group.best += options.machine.nanoseconds(cost);
    group.time += options.measured ? (*options.measured)[index] : options.machine.nanoseconds(cost);
  }

  /// Kernels and copies are grouped by name; a collective is one group, with its second half.
  Group &groupOf(uint32_t index) {
    const plan::CommandT &command = *plan.commands[index];
    CommandKind kind = kindOf(command);
    Group fresh{command.name, sourceText(command.location), kind, index};
    if (const auto *gather = command.action.AsGatherParts()) {
      if (auto reduction = reduced.find(gather->buffer); reduction != reduced.end())
        return groups[reduction->second];
      fresh.members = mesh.memberCount(gather->communicator);
    } else if (const auto *reduce = command.action.AsReducePart()) {
      reduced[reduce->target] = groups.size();
      fresh.members = mesh.memberCount(reduce->communicator);
    } else if (const auto *gather = command.action.AsGatherBlocks()) {
      fresh.members = mesh.memberCount(gather->communicator);
    } else if (const auto *blocks = command.action.AsReduceBlocks()) {
      fresh.members = mesh.memberCount(blocks->communicator);
    } else if (const auto *exchange = command.action.AsExchangeBlocks()) {
      fresh.members = mesh.memberCount(exchange->communicator);
    } else if (auto [place, isNew] = named.try_emplace(command.name, groups.size()); !isNew) {
      return groups[place->second];
    }
    return groups.emplace_back(std::move(fresh));
  }

  /// Whether a command is the second half of a collective whose first half is counted already.
  bool isSecondHalf(const plan::CommandT &command) const {
    const auto *gather = command.action.AsGatherParts();
    return gather && reduced.contains(gather->buffer);
  }

  void explainMemory() {
    uint64_t slots = 0, temporaries = 0;
    for (const auto &buffer : plan.buffers)
      (buffer->slot >= 0 ? slots : temporaries) += buffer->size;
    Peak peak = peakOf(plan);
    auto line = [&](uint64_t bytes) -> std::ostream & {
      return out << right(bytesText(double(bytes)), 10) << "  ";
    };
    out << "\nmemory of a device\n";
    line(slots) << "arguments and results\n";
    line(summarize(plan).stateBytes) << "states, kept between steps\n";
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

  void explainMachine() {
    out << "\nmachine model: " << numberText(options.machine.gflops) << " GF/s and "
        << numberText(options.machine.gbps) << " GB/s a device (" << options.machineOrigin << ")\n";
    if (options.measured)
      out << "times: measured, the median of steps and devices; of roof: model / measured (caches give over "
             "100 %)\n";
    else
      out << "times: estimates, the longer of flops / peak and bytes / bandwidth; --trace=FILE shows "
             "measured\n";
  }

  static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

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
        << "  share     time calls    flops    bytes  GF/s limit"
        << (options.measured ? "  of roof  " : "  of peak  ") << left("kernel", kNameWidth) << " source\n";
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
    const Machine &machine = options.machine;
    // Without measurements: how much of the peak the bandwidth leaves.
    double reach = options.measured ? ratio(group.best, group.time)
                                    : ratio(machine.computeNanoseconds(group.cost), group.best);
    out << right(percentText(ratio(group.time, total)), 7) << right(timeText(group.time), 9)
        << right(std::to_string(group.calls), 6) << right(flopsText(double(group.cost.flops)), 9)
        << right(bytesText(double(group.cost.bytes)), 9)
        << right(numberText(ratio(double(group.cost.flops), group.time)), 6)
        << (machine.isComputeBound(group.cost) ? " flops" : " bytes") << right(percentText(reach), 9) << "  "
        << left(group.name, kNameWidth) << ' ' << group.source << '\n';
  }

  void explainCollectives() {
    std::vector<const Group *> found;
    double payload = 0, bytes = 0, time = 0;
    for (const Group &group : groups)
      if (group.kind == CommandKind::collective) {
        found.push_back(&group);
        payload += double(group.cost.payload);
        bytes += double(group.cost.bytes);
        time += group.time;
      }
    if (found.empty())
      return;
    out << "\ncollectives: " << found.size() << " of " << bytesText(payload) << ", " << bytesText(bytes)
        << " read and written by each device, " << timeText(time) << '\n'
        << "     tensor     moved      time   GB/s members  collective" << std::string(kNameWidth - 8, ' ')
        << "source\n";
    for (size_t i = 0; i < std::min(kRows, found.size()); ++i) {
      const Group &group = *found[i];
      out << right(bytesText(double(group.cost.payload)), 11)
          << right(bytesText(double(group.cost.bytes)), 10) << right(timeText(group.time), 10)
          << right(numberText(ratio(double(group.cost.bytes), group.time)), 7)
          << right(std::to_string(group.members), 8) << "  " << left(group.name, kNameWidth) << "  "
          << group.source << '\n';
    }
    if (found.size() > kRows)
      out << "  and " << found.size() - kRows << " more\n";
  }

  const plan::PlanT &plan;
  const ExplainOptions &options;
  Mesh mesh;
  Summary summary;
  std::vector<Group> groups;
  std::map<std::string, size_t> named; // group of each kernel
  std::map<uint32_t, size_t> reduced;  // group of the last reduction into each buffer
  std::ostringstream out;
};

} // namespace

std::string explainPlan(const plan::PlanT &plan, const ExplainOptions &options) {
  return Explainer(plan, options).run();
}

} // namespace epl::runtime::tool
