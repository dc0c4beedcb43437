#include "runtime/executor/Trace.h"

#include <nlohmann/json.hpp>

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

/// Names and order of the processes (ranks) and threads (lanes).
static void addNames(const Program &program, Json &events) {
  auto add = [&](const char *what, uint32_t rank, uint32_t lane, const std::string &name) {
    events.push_back({{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", {{"name", name}}}});
  };
  for (uint32_t rank = 0; rank < program.topology().size(); ++rank) {
    add("process_name", rank, 0, program.plan().device_kind + ":" + std::to_string(rank));
    for (uint32_t lane = 0; lane < program.plan().lanes.size(); ++lane)
      add("thread_name", rank, lane, laneName(program.plan(), lane));
  }
}

static Json describe(const Program &program, uint32_t command, double nanoseconds) {
  const plan::CommandT &source = *program.plan().commands[command];
  Json args = {
      {"source", source.location}, {"work", source.work}, {"bytes", program.actions().bytes(command)}};
  if (const auto *launch = source.action.AsLaunch())
    args["kernel"] = program.plan().kernels[launch->kernel]->name;
  if (int64_t flops = program.actions().flops(command)) {
    args["flops"] = flops;
    if (nanoseconds > 0)
      args["GF/s"] = double(flops) / nanoseconds;
  }
  return args;
}

std::string Trace::json(const Program &program) const {
  Json events = Json::array();
  addNames(program, events);
  for (const Ring &ring : rings)
    for (size_t i = ring.count - std::min(ring.count, kCapacity); i < ring.count; ++i) {
      const Event &event = ring.events[i % kCapacity];
      const plan::CommandT &command = *program.plan().commands[event.command];
      double begin = std::chrono::duration<double, std::micro>(event.begin - start).count();
      double duration = std::chrono::duration<double, std::micro>(event.end - event.begin).count();
      Json args = describe(program, event.command, duration * 1e3);
      args["call"] = event.call;
      events.push_back({{"ph", "X"},
                        {"name", command.name},
                        {"pid", event.rank},
                        {"tid", command.lane},
                        {"ts", begin},
                        {"dur", duration},
                        {"args", std::move(args)}});
    }
  return Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump();
}

} // namespace epl::runtime
