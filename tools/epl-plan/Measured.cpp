#include "Measured.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Reader.h"
#include "runtime/plan/model/Cost.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Parts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace epl::runtime::tool {
namespace {

using Json = nlohmann::json;

/// A command of a device in a step.
struct Event {
  uint64_t call;
  uint32_t device, part, command;
  CommandSpan span;
};

double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Reader {
public:
  Reader(const plan::PlanT &plan, std::string name)
      : plan(plan), parts(meshPlansOf(plan)), name(std::move(name)) {}

  Recording read(const Json &timeline) {
    for (const Json &event : timeline.at("traceEvents"))
      if (event.at("ph") == "X" && event.at("args").contains("command"))
        add(event);
    Recording recording;
    recording.medians = medians();
    recording.step = medianStep();
    return recording;
  }

private:
  /// Throws Json::exception on anything that is none of a timeline.
  void add(const Json &json) {
    const Json &args = json.at("args");
    Event event{.call = args.value("call", uint64_t(0)),
                .device = json.at("pid").get<uint32_t>(),
                .part = args.value("part", 0U),
                .command = args.at("command").get<uint32_t>(),
                .span = {}};
    auto found = json.at("name").get<std::string>();
    if (event.part >= parts.size() || event.command >= parts[event.part]->commands.size() ||
        parts[event.part]->commands[event.command]->name != found)
      throw PlanError("timeline \"" + name + "\" is not one of this plan: it has a command " +
                      std::to_string(event.command) + " named " + runtime::quoted(found));
    event.span.begin = json.at("ts").get<double>() * 1e3;
    event.span.end = event.span.begin + json.at("dur").get<double>() * 1e3;
    events.push_back(event);
  }

  std::vector<std::vector<double>> medians() const {
    std::vector<std::vector<std::vector<double>>> durations;
    durations.reserve(parts.size());
    for (const plan::PlanT *part : parts)
      durations.emplace_back(part->commands.size());
    for (const Event &event : events)
      durations[event.part][event.command].push_back(event.span.end - event.span.begin);
    std::vector<std::vector<double>> medians(parts.size());
    for (size_t part = 0; part < parts.size(); ++part)
      for (uint32_t command = 0; command < durations[part].size(); ++command)
        medians[part].push_back(medianOf(*parts[part], command, std::move(durations[part][command])));
    return medians;
  }

  /// Whether a step may do without a command: in a branch; on a GPU where another one has done it, as the
  /// second half of an all-reduce that was a call of NCCL.
  static bool mayBeSkipped(const plan::PlanT &part, uint32_t index) {
    const plan::CommandT &command = *part.commands[index];
    return !command.guards.empty() || (part.device_kind == "cuda" && kindOf(command) != CommandKind::compute);
  }

  double medianOf(const plan::PlanT &part, uint32_t command, std::vector<double> durations) const {
    bool isSkipped = durations.empty() && mayBeSkipped(part, command);
    if (durations.empty() && !isSkipped)
      throw PlanError("timeline \"" + name + "\" has no " + commandName(part, command) +
                      ": it is of another plan, or of no whole step");
    return isSkipped ? 0 : median(std::move(durations));
  }

  PlanRun medianStep() const {
    std::map<uint64_t, std::vector<const Event *>> calls;
    for (const Event &event : events)
      calls[event.call].push_back(&event);
    std::vector<PlanRun> steps;
    for (const auto &[call, ofCall] : calls)
      if (PlanRun step; fill(step, ofCall))
        steps.push_back(std::move(step));
    if (steps.empty())
      throw PlanError("timeline \"" + name + "\" has no whole step");
    auto middle = steps.begin() + std::ptrdiff_t(steps.size() / 2);
    std::ranges::nth_element(steps, middle, {}, &PlanRun::makespan);
    return std::move(*middle);
  }

  /// The step of a call; whether all of it is there. The makespan is that of all ranks.
  bool fill(PlanRun &step, const std::vector<const Event *> &ofCall) const {
    double begin = std::numeric_limits<double>::infinity(), end = 0;
    for (const Event *event : ofCall) {
      begin = std::min(begin, event->span.begin);
      end = std::max(end, event->span.end);
    }
    step.makespan = end - begin;
    std::vector<std::vector<bool>> seen;
    for (const plan::PlanT *part : parts) {
      step.meshes.emplace_back().commands.resize(part->commands.size());
      seen.emplace_back(part->commands.size());
    }
    for (const Event *event : ofCall)
      if (event->device == firstDevice(event->part)) {
        seen[event->part][event->command] = true;
        add(step.meshes[event->part], *event, begin);
      }
    for (size_t part = 0; part < parts.size(); ++part)
      for (uint32_t command = 0; command < seen[part].size(); ++command)
        if (!seen[part][command] && !mayBeSkipped(*parts[part], command))
          return false;
    return true;
  }

  void add(MeshRun &mesh, const Event &event, double begin) const {
    mesh.commands[event.command] = {event.span.begin - begin, event.span.end - begin};
    const plan::PlanT &part = *parts[event.part];
    bool computes = part.lanes[part.commands[event.command]->lane]->kind == plan::LaneKind::compute;
    if (computes || lanesShareThread(plan))
      mesh.busy += event.span.end - event.span.begin;
  }

  uint32_t firstDevice(uint32_t part) const {
    return deviceAt(plan, plan.parts.empty() ? 0 : placesOf(*plan.parts[part]).front());
  }

  const plan::PlanT &plan;
  std::vector<const plan::PlanT *> parts;
  std::string name;
  std::vector<Event> events;
};

} // namespace

Recording readTimeline(const plan::PlanT &plan, const std::filesystem::path &path) {
  std::vector<uint8_t> bytes = readBytes(path);
  try {
    return Reader(plan, path.string()).read(Json::parse(bytes.begin(), bytes.end()));
  } catch (const Json::exception &error) {
    throw PlanError("\"" + path.string() +
                    "\" is not a timeline as compiled.trace and epl-run --trace write it: " + error.what());
  }
}

} // namespace epl::runtime::tool
