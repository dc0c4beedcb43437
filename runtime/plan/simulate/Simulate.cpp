#include "runtime/plan/simulate/Simulate.h"

#include "runtime/plan/model/Cost.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>

namespace epl::runtime {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A part, as one machine.
struct Machine {
  Machine(const plan::PlanT &plan, const MessageLink &link)
      : plan(plan), mesh(plan), heads(plan.lanes.size()), ends(plan.commands.size(), never) {
    addArrivals(link);
    for (bool computes : {false, true})
      for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane)
        if ((plan.lanes[lane]->kind == plan::LaneKind::compute) == computes)
          (computes ? computing : communicating).push_back(lane);
  }

  /// What is pulled follows what was asked for before it.
  void addArrivals(const MessageLink &link) {
    double bytes = 0;
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      if (plan.commands[command]->action.AsPull()) {
        bytes += double(costOf(plan, mesh, *plan.commands[command]).received);
        arrivals[command] = link.nanoseconds + bytes / link.gbps;
      }
  }

  bool hasHead(uint32_t lane) const { return heads[lane] < plan.lanes[lane]->commands.size(); }
  uint32_t head(uint32_t lane) const { return plan.lanes[lane]->commands[heads[lane]]; }
  bool isCompute(uint32_t lane) const { return plan.lanes[lane]->kind == plan::LaneKind::compute; }

  const plan::PlanT &plan;
  Mesh mesh;
  std::vector<uint32_t> computing, communicating; // lanes
  std::vector<size_t> heads;                      // of each lane, in its list
  uint32_t next = 0;                              // the first command in program order that has not begun
  std::vector<double> ends;                       // of commands that have begun
  std::map<uint32_t, double> arrivals;            // when what a pull waits for is there
  MeshRun run;
};

/// What runs one command at a time: a thread with all lanes of a machine, or one lane.
struct Resource {
  uint32_t part;
  std::optional<uint32_t> lane;
  double free = 0; // from when on
};

class Simulator {
public:
  Simulator(const plan::PlanT &plan, const Assumptions &assumptions)
      : assumptions(assumptions), channels(channelsOf(plan)) {
    for (const plan::PlanT *part : meshPlansOf(plan))
      machines.emplace_back(*part, assumptions.link);
    for (uint32_t part = 0; part < machines.size(); ++part) {
      Machine &machine = machines[part];
      machine.run.commands.resize(machine.plan.commands.size());
      if (assumptions.lanesShareThread)
        resources.push_back({part, {}});
      for (uint32_t lane = 0; lane < machine.plan.lanes.size() && !assumptions.lanesShareThread; ++lane)
        resources.push_back({part, lane});
    }
  }

  PlanRun run() {
    events.push(0);
    for (const Machine &machine : machines)
      for (auto [command, time] : machine.arrivals)
        events.push(time);
    while (!events.empty()) {
      now = events.top();
      while (!events.empty() && events.top() == now)
        events.pop();
      for (Resource &resource : resources)
        if (resource.free <= now)
          if (std::optional<uint32_t> lane = readyLane(resource))
            start(resource, *lane);
    }
    return finish();
  }

private:
  PlanRun finish() {
    PlanRun result;
    for (Machine &machine : machines)
      for (const CommandSpan &span : machine.run.commands)
        result.makespan = std::max(result.makespan, span.end);
    for (const Resource &resource : resources)
      if (isMeasured(resource) && resource.free < result.makespan)
        machines[resource.part].run.waits[{WaitCause::end, 0}] += result.makespan - resource.free;
    for (Machine &machine : machines) {
      assert(std::ranges::find(machine.ends, never) == machine.ends.end() && "a verified plan ends");
      result.meshes.push_back(std::move(machine.run));
    }
    return result;
  }

  /// Whether its idle time is that of the mesh.
  bool isMeasured(const Resource &resource) const {
    return !resource.lane || machines[resource.part].isCompute(*resource.lane);
  }

  /// The lane whose head a resource does now: of a thread as Step::nextLane says.
  std::optional<uint32_t> readyLane(const Resource &resource) {
    Machine &machine = machines[resource.part];
    auto isReady = [&](uint32_t lane) {
      return machine.hasHead(lane) && readyAt(resource.part, machine.head(lane)) <= now;
    };
    if (resource.lane)
      return isReady(*resource.lane) ? resource.lane : std::nullopt;
    if (auto lane = std::ranges::find_if(machine.communicating, isReady); lane != machine.communicating.end())
      return *lane;
    while (machine.next < machine.ends.size() && machine.ends[machine.next] != never)
      ++machine.next;
    if (machine.next == machine.ends.size())
      return {};
    if (uint32_t lane = machine.plan.commands[machine.next]->lane; isReady(lane))
      return lane;
    auto lane = std::ranges::find_if(machine.computing, isReady);
    return lane != machine.computing.end() ? std::optional(*lane) : std::nullopt;
  }

  void start(Resource &resource, uint32_t lane) {
    Machine &machine = machines[resource.part];
    uint32_t command = machine.head(lane);
    double time = assumptions.nanoseconds[resource.part][command];
    if (isMeasured(resource)) {
      if (now > resource.free)
        machine.run.waits[causeOf(resource.part, command)] += now - resource.free;
      machine.run.busy += time;
    }
    ++machine.heads[lane];
    resource.free = machine.ends[command] = now + time;
    machine.run.commands[command] = {now, resource.free};
    events.push(resource.free);
    if (const plan::SendT *send = machine.plan.commands[command]->action.AsSend())
      events.push(arrival(channels[send->channel][send->message]));
  }

  /// When the message of a send that has begun is where it is received.
  double arrival(const MessageEnds &ends) const {
    const Machine &receiver = machines[ends.receive.part];
    uint64_t bytes =
        costOf(receiver.plan, receiver.mesh, *receiver.plan.commands[ends.receive.command]).received;
    return machines[ends.send.part].ends[ends.send.command] + assumptions.link.nanoseconds +
           double(bytes) / assumptions.link.gbps;
  }

  /// What is in whose place a send's message comes, if anything.
  std::optional<PartCommand> fetchBefore(const plan::SendT &send) const {
    if (send.message < send.depth)
      return {};
    return channels[send.channel][send.message - send.depth].receive;
  }

  /// When all that a head waits for has ended; `never` if that is not known yet.
  double readyAt(uint32_t part, uint32_t index) const {
    const Machine &machine = machines[part];
    const plan::CommandT &command = *machine.plan.commands[index];
    auto pulled = machine.arrivals.find(index);
    double time = pulled == machine.arrivals.end() ? 0 : pulled->second;
    for (const plan::Wait &wait : command.waits)
      time = std::max(time, machine.ends[wait.command()]);
    if (const plan::ReceiveT *receive = command.action.AsReceive())
      time = std::max(time, arrival(channels[receive->channel][receive->message]));
    if (const plan::SendT *send = command.action.AsSend())
      if (std::optional<PartCommand> fetch = fetchBefore(*send))
        time = std::max(time, machines[fetch->part].ends[fetch->command]);
    return time;
  }

  /// What made a command wait for longest, by what it is itself or else by the last that it waited for.
  WaitFor causeOf(uint32_t part, uint32_t index) const {
    const Machine &machine = machines[part];
    const plan::CommandT *cause = machine.plan.commands[index].get();
    double last = -1;
    if (kindOf(*cause) != CommandKind::transfer)
      for (const plan::Wait &wait : machine.plan.commands[index]->waits)
        if (machine.ends[wait.command()] > last) {
          last = machine.ends[wait.command()];
          cause = machine.plan.commands[wait.command()].get();
        }
    if (const plan::ReceiveT *receive = cause->action.AsReceive())
      return {WaitCause::message, channels[receive->channel][receive->message].send.part};
    if (const plan::SendT *send = cause->action.AsSend())
      return {WaitCause::room, channels[send->channel][send->message].receive.part};
    if (cause->action.AsPull())
      return {WaitCause::pull, 0};
    return {kindOf(*cause) == CommandKind::collective ? WaitCause::collective : WaitCause::copy, 0};
  }

  const Assumptions &assumptions;
  std::vector<std::vector<MessageEnds>> channels;
  std::vector<Machine> machines;
  std::vector<Resource> resources;
  double now = 0;
  std::priority_queue<double, std::vector<double>, std::greater<>> events; // when something may become ready
};

} // namespace

bool lanesShareThread(const plan::PlanT &plan) { return plan.device_kind == "cpu"; }

double PlanRun::bubble() const {
  double busy = std::accumulate(meshes.begin(), meshes.end(), 0.0,
                                [](double sum, const MeshRun &mesh) { return sum + mesh.busy; });
  return makespan > 0 ? 1 - busy / (makespan * double(meshes.size())) : 0;
}

PlanRun simulate(const plan::PlanT &plan, const Assumptions &assumptions) {
  return Simulator(plan, assumptions).run();
}

} // namespace epl::runtime
