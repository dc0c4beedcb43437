#include "runtime/executor/Trace.h"

#include "runtime/plan/model/Cost.h"

#include <nlohmann/json.hpp>

#include <map>

namespace epl::runtime {

using Json = nlohmann::ordered_json;

void Trace::enable(bool on) {
  enabled = on;
  if (!on)
    return;
  start = Clock::now();
  for (Ring &ring : rings) {
    ring.events.resize(kCapacity);
    ring.count = 0;
  }
}

static std::string laneName(const plan::PlanT &plan, uint32_t index) {
  const plan::LaneT &lane = *plan.lanes[index];
  std::string name = plan::EnumNameLaneKind(lane.kind);
  if (lane.communicator >= 0)
    for (const std::string &axis : plan.communicators[lane.communicator]->axes)
      name += " " + axis;
  return name;
}

static Json metadata(const char *what, uint32_t process, uint32_t thread, const char *key,
                     const Json &value) {
  return {{"ph", "M"},     {"name", what}, {"pid", process},
          {"tid", thread}, {"ts", 0},      {"args", {{key, value}}}};
}

/// Names and order of the processes and threads: the steps, then the devices with their lanes.
static void addNames(const LoadedPlan &loaded, Json &events) {
  auto process = [&](uint32_t index, int order, const std::string &name) {
    events.push_back(metadata("process_name", index, 0, "name", name));
    events.push_back(metadata("process_sort_index", index, 0, "sort_index", order));
  };
  auto thread = [&](uint32_t index, uint32_t lane, const std::string &name) {
    events.push_back(metadata("thread_name", index, lane, "name", name));
    events.push_back(metadata("thread_sort_index", index, lane, "sort_index", lane));
  };
  process(loaded.plan().devices, -1, loaded.plan().layout);
  thread(loaded.plan().devices, 0, "steps");
  for (uint32_t part = 0; part < loaded.numPrograms(); ++part) {
    const Program &program = loaded.program(part);
    for (uint32_t rank : program.ranks()) {
      uint32_t device = loaded.ranks().device(part, rank);
      process(device, int(device), program.plan().device_kind + ":" + std::to_string(device));
      for (uint32_t lane = 0; lane < program.plan().lanes.size(); ++lane)
        thread(device, lane, laneName(program.plan(), lane));
    }
  }
}

/// 64x512 * 512x10
static std::string productText(const plan::ContractT &contract) {
  auto matrix = [](int64_t rows, int64_t columns) {
    return std::to_string(rows) + "x" + std::to_string(columns);
  };
  std::string text = matrix(contract.m, contract.k) + " * " + matrix(contract.k, contract.n);
  for (const auto &dim : contract.batch)
    text = std::to_string(dim.extent()) + " of " + text;
  return text;
}

/// What the timeline says of each instance of a command.
static Json describe(const plan::PlanT &plan, uint32_t index, const Cost &cost) {
  const plan::CommandT &command = *plan.commands[index];
  Json args = {{"command", index}, {"source", command.location}, {"work", command.work}};
  if (const auto *launch = command.action.AsLaunch())
    args["kernel"] = plan.kernels[launch->kernel]->name;
  if (const auto *contract = command.action.AsContract())
    args["product"] = productText(*contract);
  if (cost.payload != 0)
    args["payload"] = cost.payload;
  args["bytes"] = cost.bytes;
  if (cost.flops != 0)
    args["flops"] = cost.flops;
  return args;
}

static Json duration(const std::string &name, const char *category, uint32_t process, uint32_t thread,
                     double begin, double end, Json args) {
  return {{"ph", "X"},     {"name", name}, {"cat", category},    {"pid", process},
          {"tid", thread}, {"ts", begin},  {"dur", end - begin}, {"args", std::move(args)}};
}

/// The events of a recording. Times are in microseconds from its start.
class Timeline {
public:
  explicit Timeline(const LoadedPlan &loaded) : loaded(loaded) {
    addNames(loaded, events);
    for (uint32_t part = 0; part < loaded.numPrograms(); ++part)
      describeAll(part);
  }

  void add(Trace::Instance instance, uint64_t call, double begin, double end) {
    auto &[first, last] = steps.try_emplace(call, begin, end).first->second;
    first = std::min(first, begin);
    last = std::max(last, end);
    const Cost &cost = costs[instance.part][instance.command];
    Json args = descriptions[instance.part][instance.command];
    args["call"] = call;
    if (end > begin) {
      if (cost.flops != 0)
        args["GF/s"] = double(cost.flops) / (end - begin) * 1e-3;
      args["GB/s"] = double(cost.bytes) / (end - begin) * 1e-3;
    }
    const plan::CommandT &command = *loaded.program(instance.part).plan().commands[instance.command];
    uint32_t device = loaded.ranks().device(instance.part, instance.rank);
    events.push_back(
        duration(command.name, kindName(kindOf(command)), device, command.lane, begin, end, std::move(args)));
  }

  std::string finish() {
    for (const auto &[call, span] : steps)
      events.push_back(duration("step " + std::to_string(call), "step", loaded.plan().devices, 0, span.first,
                                span.second, {{"call", call}}));
    // Names come from users, who may write any bytes.
    return Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
  }

private:
  void describeAll(uint32_t part) {
    const plan::PlanT &plan = loaded.program(part).plan();
    Mesh mesh(plan);
    costs.emplace_back();
    descriptions.emplace_back();
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      costs.back().push_back(costOf(plan, mesh, *plan.commands[command]));
      descriptions.back().push_back(describe(plan, command, costs.back().back()));
      if (loaded.numPrograms() > 1)
        descriptions.back().back()["part"] = part;
    }
  }

  const LoadedPlan &loaded;
  Json events = Json::array();
  std::vector<std::vector<Cost>> costs;                // of each part's commands
  std::vector<std::vector<Json>> descriptions;         // of each part's commands
  std::map<uint64_t, std::pair<double, double>> steps; // begin and end of each call
};

std::string Trace::json(const LoadedPlan &plan) const {
  Timeline timeline(plan);
  auto microseconds = [&](Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time - start).count();
  };
  for (const Ring &ring : rings)
    for (size_t i = ring.count - std::min(ring.count, kCapacity); i < ring.count; ++i) {
      const Event &event = ring.events[i % kCapacity];
      timeline.add(event.instance, event.call, microseconds(event.begin), microseconds(event.end));
    }
  return timeline.finish();
}

} // namespace epl::runtime
