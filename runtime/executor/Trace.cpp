#include "runtime/executor/Trace.h"

#include "runtime/plan/Cost.h"

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

/// Names and order of the processes and threads: the steps, then the ranks with their lanes.
static void addNames(const Program &program, Json &events) {
  auto process = [&](uint32_t index, int order, const std::string &name) {
    events.push_back(metadata("process_name", index, 0, "name", name));
    events.push_back(metadata("process_sort_index", index, 0, "sort_index", order));
  };
  auto thread = [&](uint32_t index, uint32_t lane, const std::string &name) {
    events.push_back(metadata("thread_name", index, lane, "name", name));
    events.push_back(metadata("thread_sort_index", index, lane, "sort_index", lane));
  };
  const plan::PlanT &plan = program.plan();
  uint32_t ranks = program.topology().size();
  process(ranks, -1, plan.layout);
  thread(ranks, 0, "steps");
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    process(rank, int(rank), plan.device_kind + ":" + std::to_string(rank));
    for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane)
      thread(rank, lane, laneName(plan, lane));
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
  explicit Timeline(const Program &program) : plan(program.plan()), ranks(program.topology().size()) {
    addNames(program, events);
    Mesh mesh(plan);
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      costs.push_back(costOf(plan, mesh, *plan.commands[command]));
      descriptions.push_back(describe(plan, command, costs.back()));
    }
  }

  void add(uint32_t rank, uint32_t index, uint64_t call, double begin, double end) {
    auto &[first, last] = steps.try_emplace(call, begin, end).first->second;
    first = std::min(first, begin);
    last = std::max(last, end);
    Json args = descriptions[index];
    args["call"] = call;
    if (end > begin) {
      if (costs[index].flops != 0)
        args["GF/s"] = double(costs[index].flops) / (end - begin) * 1e-3;
      args["GB/s"] = double(costs[index].bytes) / (end - begin) * 1e-3;
    }
    const plan::CommandT &command = *plan.commands[index];
    events.push_back(
        duration(command.name, kindName(kindOf(command)), rank, command.lane, begin, end, std::move(args)));
  }

  std::string finish() {
    for (const auto &[call, span] : steps)
      events.push_back(duration("step " + std::to_string(call), "step", ranks, 0, span.first, span.second,
                                {{"call", call}}));
    // Names come from users, who may write any bytes.
    return Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
  }

private:
  const plan::PlanT &plan;
  uint32_t ranks;
  Json events = Json::array();
  std::vector<Cost> costs;                             // of each command
  std::vector<Json> descriptions;                      // of each command
  std::map<uint64_t, std::pair<double, double>> steps; // begin and end of each call
};

std::string Trace::json(const Program &program) const {
  Timeline timeline(program);
  auto microseconds = [&](Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time - start).count();
  };
  for (const Ring &ring : rings)
    for (size_t i = ring.count - std::min(ring.count, kCapacity); i < ring.count; ++i) {
      const Event &event = ring.events[i % kCapacity];
      timeline.add(event.rank, event.command, event.call, microseconds(event.begin), microseconds(event.end));
    }
  return timeline.finish();
}

} // namespace epl::runtime
