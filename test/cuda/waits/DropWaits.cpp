//===- DropWaits.cpp - Plans without one of their waits ---------------------------===//
//
// epl-drop-waits PLAN..: runs each plan for GPUs on the stand-in of one, then again without each of its
// waits. A wait is not needed where the plan verifier still proves the plan, or where another path goes from
// the one command to the other, which may lead through other meshes; of all others the stand-in must find
// operations that nothing orders. So each proves the other: a wait that is missing in the graph of a step
// would be found. Where the graph has one launch for a list of commands, each of these waits for what all of
// them wait for: what such a wait is for is seen in a step with a launch for each. Prints a line for each
// plan, and one for each wait that is missed; exits with 1 if there are any.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CommandOrder.h"
#include "runtime/device/cuda/CudaDevices.h"
#include "runtime/device/cuda/StepGraph.h"
#include "runtime/plan/format/Reader.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/LaunchLists.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/verify/ReadVerified.h"
#include "runtime/plan/verify/Verifier.h"
#include "test/cuda/driver/Control.h"

#include <algorithm>
#include <iostream>
#include <set>

using namespace epl::runtime;

namespace {

/// A plan on one card, with memory of its own for all slots.
class Runner {
public:
  explicit Runner(const plan::PlanT &plan)
      : devices(std::make_shared<cuda::CudaDevices>(Devices{"cuda", plan.devices})), channels(plan),
        ranks(LocalRanks::all(plan)), code(devices->load(plan)), step(code->bindStep(channels, ranks)) {
    std::vector<const plan::PlanT *> plans = meshPlansOf(plan);
    for (uint32_t part = 0; part < plans.size(); ++part)
      placeBuffers(*plans[part], part);
  }

  /// How many findings a step makes: as a graph, or with a launch for each command.
  size_t run(uint64_t seed, bool isGraph) {
    eplCudaRestart(seed);
    std::vector<const AddressTable *> meshes;
    meshes.reserve(tables.size());
    for (const AddressTable &table : tables)
      meshes.push_back(&table);
    step->start(meshes, /*isTimed=*/!isGraph, [] { return false; });
    while (!step->isDone()) {
    }
    return eplCudaCountFindings();
  }

private:
  void placeBuffers(const plan::PlanT &plan, uint32_t part) {
    tables.emplace_back(ranks.of(part), ranks.count(part), plan.buffers.size());
    for (uint32_t rank : ranks.of(part)) {
      uint32_t device = ranks.device(part, rank);
      auto take = [&](size_t size) {
        memory.push_back(devices->allocate(device, size, Memory::Fill::zeros));
        return memory.back()->address();
      };
      std::byte *arena = take(plan.arena_size);
      std::vector<std::byte *> slots(plan.slots.size());
      for (const auto &buffer : plan.buffers)
        if (buffer->slot >= 0)
          slots[size_t(buffer->slot)] = take(buffer->size);
      for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer) {
        BufferPlace place = placeOf(plan, buffer);
        std::byte *begin = place.slot < 0 ? arena : slots[size_t(place.slot)];
        tables.back().set(rank, buffer, begin + place.offset);
      }
    }
  }

  std::shared_ptr<DeviceSet> devices;
  Channels channels;
  LocalRanks ranks;
  std::unique_ptr<Code> code;
  std::unique_ptr<BoundStep> step;
  std::vector<std::unique_ptr<Allocation>> memory;
  std::vector<AddressTable> tables; // of each part
};

/// A command on a rank.
struct Node {
  uint32_t part, command, rank;
  auto operator<=>(const Node &) const = default;
};

/// What orders the commands of a plan: lanes, waits, messages.
class Paths {
public:
  explicit Paths(const plan::PlanT &plan) : plans(meshPlansOf(plan)), channels(plan) {
    for (const plan::PlanT *part : plans)
      topologies.emplace_back(*part);
  }

  /// Whether a path leads from one to the other.
  bool lead(const Node &from, const Node &to) const {
    std::set<Node> seen = {to};
    for (std::vector<Node> open = {to}; !open.empty();) {
      Node node = open.back();
      open.pop_back();
      for (const Node &before : getBefore(node)) {
        if (before == from)
          return true;
        if (seen.insert(before).second)
          open.push_back(before);
      }
    }
    return false;
  }

  const Topology &topology(uint32_t part) const { return topologies[part]; }

  /// The ranks whose command a wait of a rank is for.
  std::vector<uint32_t> membersOf(uint32_t part, uint32_t rank, const plan::Wait &wait) const {
    if (wait.scope() == plan::WaitScope::self)
      return {rank};
    std::span<const uint32_t> members = topologies[part].members(wait.communicator(), rank);
    return {members.begin(), members.end()};
  }

private:
  std::vector<Node> getBefore(const Node &node) const {
    std::vector<Node> before;
    const plan::PlanT &plan = *plans[node.part];
    const plan::CommandT &command = *plan.commands[node.command];
    const std::vector<uint32_t> &lane = plan.lanes[command.lane]->commands;
    if (auto at = std::ranges::find(lane, node.command); at != lane.begin())
      before.push_back({node.part, *(at - 1), node.rank});
    for (const plan::Wait &wait : command.waits)
      for (uint32_t member : membersOf(node.part, node.rank, wait))
        before.push_back({node.part, wait.command(), member});
    if (const plan::ReceiveT *receive = command.action.AsReceive())
      add(before, channels.messages(receive->channel)[receive->message].send,
          channels.sources(receive->channel, node.rank));
    if (const plan::SendT *send = command.action.AsSend(); send && send->message >= send->depth)
      add(before, channels.messages(send->channel)[send->message - send->depth].receive,
          channels.listeners(send->channel, node.rank));
    return before;
  }

  static void add(std::vector<Node> &nodes, PartCommand command, std::span<const uint32_t> ranks) {
    for (uint32_t rank : ranks)
      nodes.push_back({command.part, command.command, rank});
  }

  std::vector<const plan::PlanT *> plans;
  Channels channels;
  std::vector<Topology> topologies;
};

/// Whether a plan orders what a wait that it has no more did.
bool isOrdered(const plan::PlanT &without, uint32_t part, uint32_t command, const plan::Wait &wait) {
  Paths paths(without);
  for (uint32_t rank = 0; rank < paths.topology(part).size(); ++rank)
    for (uint32_t member : paths.membersOf(part, rank, wait))
      if (!paths.lead({part, wait.command(), member}, {part, command, rank}))
        return false;
  return true;
}

struct Counts {
  size_t waits = 0, found = 0, proved = 0, missed = 0;
};

plan::PlanT copyOf(const plan::PlanT &plan) { return parsePlanUnverified(serializePlan(plan), "the plan"); }

plan::PlanT &partOf(plan::PlanT &plan, size_t part) {
  return plan.parts.empty() ? plan : *plan.parts[part]->plan;
}

/// Whether a graph has one launch for a list with a command.
bool isInList(const plan::PlanT &plan, uint32_t part, uint32_t command) {
  std::vector<const plan::PlanT *> meshes = meshPlansOf(plan);
  const plan::PlanT &mesh = *meshes[part];
  std::vector<size_t> places = cuda::placesIn(cuda::orderCommands(meshes, Channels(plan)), part, mesh);
  return std::ranges::any_of(findLaunchLists(mesh, Mesh(mesh), places), [&](const auto &list) {
    return std::ranges::find(list, command) != list.end();
  });
}

/// Whether the stand-in finds the missing wait, in one of some orders.
bool isFound(const plan::PlanT &plan, bool isOfList) {
  Runner runner(plan);
  for (uint64_t seed = 1; seed <= 3; ++seed)
    if (runner.run(seed, /*isGraph=*/!isOfList) != 0)
      return true;
  return false;
}

void dropEach(plan::PlanT &plan, size_t part, uint32_t command, Counts &counts) {
  size_t number = partOf(plan, part).commands[command]->waits.size();
  for (size_t wait = 0; wait < number; ++wait) {
    ++counts.waits;
    plan::PlanT without = copyOf(plan);
    auto &waits = partOf(without, part).commands[command]->waits;
    plan::Wait dropped = waits[wait];
    waits.erase(waits.begin() + ptrdiff_t(wait));
    if (isOrdered(without, uint32_t(part), command, dropped) || verifyPlan(without).empty())
      ++counts.proved;
    else if (isFound(without, isInList(without, uint32_t(part), command) ||
                                  isInList(without, uint32_t(part), dropped.command())))
      ++counts.found;
    else {
      ++counts.missed;
      std::cout << "  missed: " << commandName(partOf(plan, part), command) << " without its wait for "
                << commandName(partOf(plan, part), dropped.command()) << '\n';
    }
  }
}

Counts check(const std::string &path) {
  plan::PlanT plan = readPlan(path);
  Counts counts;
  for (bool isGraph : {true, false})
    if (Runner(plan).run(1, isGraph) != 0)
      throw std::runtime_error(std::string("the whole plan has findings: ") + eplCudaGetFinding(0));
  for (size_t part = 0; part < std::max<size_t>(plan.parts.size(), 1); ++part)
    for (uint32_t command = 0; command < partOf(plan, part).commands.size(); ++command)
      dropEach(plan, part, command, counts);
  return counts;
}

} // namespace

int main(int count, char **arguments) {
  size_t missed = 0;
  try {
    for (int i = 1; i < count; ++i) {
      Counts counts = check(arguments[i]);
      std::cout << arguments[i] << ": " << counts.waits << " waits, found " << counts.found << ", not needed "
                << counts.proved << ", missed " << counts.missed << std::endl;
      missed += counts.missed;
    }
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
  return missed == 0 ? 0 : 1;
}
