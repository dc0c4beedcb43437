#include "runtime/plan/build/Builder.h"

#include "runtime/plan/build/Edges.h"
#include "runtime/plan/build/Memory.h"
#include "runtime/plan/build/Offload.h"
#include "runtime/plan/build/Outside.h"
#include "runtime/plan/build/Results.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/plan/model/Origins.h"
#include "runtime/plan/model/Outside.h"
#include "runtime/plan/model/Summary.h"
#include "runtime/plan/model/Units.h"
#include "runtime/plan/verify/Verifier.h"

#include <algorithm>
#include <utility>

namespace epl::runtime {
namespace {

template <typename TableT> uint32_t append(std::vector<std::unique_ptr<TableT>> &tables, TableT table) {
  tables.push_back(std::make_unique<TableT>(std::move(table)));
  return uint32_t(tables.size() - 1);
}

/// The number of ranks; 0 if it fits no uint32_t, which the verifier rejects.
uint32_t countDevices(const plan::PlanT &plan) {
  uint64_t devices = 1;
  for (const auto &axis : plan.axes)
    devices *= axis->size;
  return devices <= UINT32_MAX ? uint32_t(devices) : 0;
}

void fillLanes(plan::PlanT &plan) {
  for (const auto &lane : plan.lanes)
    lane->commands.clear();
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    plan.lanes[plan.commands[command]->lane]->commands.push_back(command);
}

/// Each command waits for the one before it on its device.
void chainCommands(plan::PlanT &plan) {
  for (uint32_t command = 1; command < plan.commands.size(); ++command)
    plan.commands[command]->waits.emplace_back(command - 1, plan::WaitScope::self, 0);
}

void requireTables(const plan::PlanT &plan) {
  if (std::vector<std::string> messages = verifyTables(plan); !messages.empty())
    throw PlanError(std::move(messages));
}

} // namespace

Builder::Builder(std::string deviceKind) {
  plan.version = planVersion;
  plan.device_kind = std::move(deviceKind);
}

uint32_t Builder::addAxis(std::string name, uint32_t size) {
  if (size == 0)
    throw PlanError("axis \"" + name + "\" has size 0");
  plan::AxisT axis;
  axis.name = std::move(name);
  axis.size = size;
  return append(plan.axes, std::move(axis));
}

uint32_t Builder::addCommunicator(const std::vector<std::string> &axes) {
  for (uint32_t i = 0; i < plan.communicators.size(); ++i)
    if (plan.communicators[i]->axes == axes)
      return i;
  plan::CommunicatorT communicator;
  communicator.axes = axes;
  return append(plan.communicators, std::move(communicator));
}

uint32_t Builder::addSlot(plan::SlotT slot) {
  uint32_t index = append(plan.slots, std::move(slot));
  const plan::SlotT &added = *plan.slots[index];
  if (added.role == plan::SlotRole::result && added.updates >= 0)
    return index;
  plan::BufferT buffer;
  buffer.name = added.name;
  buffer.slot = int32_t(index);
  // A sharding that does not fit the shape is for verifyTables to report.
  buffer.size = added.sharding.size() == added.shape.size() ? localBytes(plan, added) : 0;
  slotBuffers[index] = append(plan.buffers, std::move(buffer));
  return index;
}

uint32_t Builder::slotBuffer(uint32_t slot) const {
  auto found = slotBuffers.find(slot);
  if (found == slotBuffers.end() || isResult(*plan.slots[slot]))
    throw PlanError("slot " + std::to_string(slot) + " is no argument of the plan");
  return found->second;
}

bool Builder::isArgument(uint32_t buffer) const { return plan.buffers.at(rootOf(plan, buffer))->slot >= 0; }

void Builder::setResult(uint32_t slot, uint32_t buffer) {
  if (slot >= plan.slots.size() || !isResult(*plan.slots[slot]))
    throw PlanError("slot " + std::to_string(slot) + " is no result of the plan");
  if (buffer >= plan.buffers.size())
    throw PlanError("result \"" + plan.slots[slot]->name + "\" is buffer " + std::to_string(buffer) +
                    ", expected one of " + std::to_string(plan.buffers.size()) + " buffers");
  results[slot] = buffer;
}

uint32_t Builder::addBuffer(std::string name, uint64_t size) {
  plan::BufferT buffer;
  buffer.name = std::move(name);
  buffer.size = size;
  return append(plan.buffers, std::move(buffer));
}

uint32_t Builder::addView(std::string name, uint32_t buffer, uint64_t offset, uint64_t size) {
  const plan::BufferT &whole = *plan.buffers.at(buffer);
  plan::BufferT view;
  view.name = std::move(name);
  view.size = size;
  view.view_of = int32_t(rootOf(plan, buffer));
  view.offset = offset + (whole.view_of < 0 ? 0 : whole.offset);
  return append(plan.buffers, std::move(view));
}

uint32_t Builder::addKernel(plan::KernelT kernel) { return append(plan.kernels, std::move(kernel)); }

uint32_t Builder::lane(plan::LaneKind kind, int32_t communicator) {
  for (uint32_t i = 0; i < plan.lanes.size(); ++i)
    if (plan.lanes[i]->kind == kind && plan.lanes[i]->communicator == communicator)
      return i;
  plan::LaneT lane;
  lane.kind = kind;
  lane.communicator = communicator;
  return append(plan.lanes, std::move(lane));
}

/// The lane of the next collective of a communicator.
uint32_t Builder::nextLane(uint32_t communicator) {
  std::vector<uint32_t> &lanes = turns[communicator];
  if (lanes.size() == numCommunicators) {
    std::ranges::rotate(lanes, lanes.begin() + 1);
    return lanes.back();
  }
  plan::LaneT lane;
  lane.kind = plan::LaneKind::communicate;
  lane.communicator = int32_t(communicator);
  return lanes.emplace_back(append(plan.lanes, std::move(lane)));
}

template <typename ActionT> void Builder::add(CommandInfo info, uint32_t lane, ActionT action) {
  plan::CommandT command;
  command.name = std::move(info.name);
  command.location = std::move(info.location);
  command.work = std::move(info.work);
  command.cause = std::move(info.cause);
  command.action.Set(std::move(action));
  command.lane = lane;
  command.guards = guards;
  if (owner)
    command.owner = std::make_unique<plan::Owner>(*owner);
  command.unit = unit;
  plan::LaneKind kind = plan.lanes[lane]->kind;
  if (unit >= 0)
    waitForUnits(command, kind);
  if (isSequential && !plan.commands.empty())
    command.waits.emplace_back(uint32_t(plan.commands.size() - 1), plan::WaitScope::self, 0);
  uint32_t index = append(plan.commands, std::move(command));
  if (kind == plan::LaneKind::compute)
    latest.computed = index;
  else if (kind == plan::LaneKind::copy_out)
    latest.sent = index;
}

void Builder::addUnits(uint32_t loop, const std::vector<schedule::Unit> &units) {
  for (schedule::Unit each : units)
    plan.units.push_back(unitOf(loop, each));
}

void Builder::beginUnit(uint32_t index) {
  unit = int32_t(index);
  before = std::exchange(last, latest);
  hasComputed = false;
}

void Builder::endUnits() {
  unit = -1;
  before = last = {};
}

/// Nothing else orders these behind older readers of memory that they could use again.
void Builder::waitForUnits(plan::CommandT &command, plan::LaneKind kind) {
  bool isFirst = kind == plan::LaneKind::compute && !std::exchange(hasComputed, true);
  int64_t awaited = kind == plan::LaneKind::copy_in ? before.computed : isFirst ? before.sent : -1;
  if (awaited >= 0)
    command.waits.emplace_back(uint32_t(awaited), plan::WaitScope::self, 0);
}

bool Builder::isAlone(uint32_t communicator) const {
  return communicator < plan.communicators.size() && Mesh(plan).memberCount(communicator) == 1;
}

void Builder::setGuards(std::vector<plan::Guard> guards) { this->guards = std::move(guards); }

void Builder::launch(CommandInfo info, uint32_t kernel, std::vector<uint32_t> buffers) {
  plan::LaunchT launch;
  launch.kernel = kernel;
  launch.buffers = std::move(buffers);
  add(std::move(info), lane(plan::LaneKind::compute, -1), std::move(launch));
}

void Builder::contract(CommandInfo info, plan::ContractT contract) {
  if (contract.attention)
    for (uint32_t part : {contract.attention->scores, contract.attention->softmax})
      plan.commands.at(part)->attention = int32_t(plan.commands.size());
  add(std::move(info), lane(plan::LaneKind::compute, -1), std::move(contract));
}

void Builder::attentionGradient(CommandInfo info, plan::AttentionGradientT gradient, uint32_t parts) {
  auto index = int32_t(plan.commands.size());
  plan.commands.at(gradient.attention)->action.AsContract()->attention->gradient = index;
  for (uint32_t part = 1; part <= parts; ++part)
    plan.commands.at(size_t(index) - part)->attention = index;
  add(std::move(info), lane(plan::LaneKind::compute, -1), std::move(gradient));
}

void Builder::copy(CommandInfo info, plan::CopyT copy) {
  add(std::move(info), lane(plan::LaneKind::compute, -1), copy);
}

void Builder::copy(CommandInfo info, uint32_t source, uint32_t target) {
  plan::CopyT whole;
  whole.source = source;
  whole.target = target;
  whole.size = source < plan.buffers.size() ? plan.buffers[source]->size : 0; // the verifier names it
  copy(std::move(info), whole);
}

void Builder::allReduce(CommandInfo info, plan::ReducePartT reduce) {
  if (isAlone(reduce.communicator)) {
    for (const plan::ReducedTensorT &tensor : reduce.tensors)
      if (tensor.source != tensor.target)
        copy(info, tensor.source, tensor.target);
    return;
  }
  uint32_t where = nextLane(reduce.communicator);
  plan::GatherPartsT gather;
  gather.communicator = reduce.communicator;
  for (const plan::ReducedTensorT &tensor : reduce.tensors) {
    plan::GatheredTensorT &gathered = gather.tensors.emplace_back();
    gathered.type = tensor.type;
    gathered.buffer = tensor.target;
    gathered.count = tensor.count;
  }
  gather.reduce = uint32_t(plan.commands.size());
  reduce.gather = gather.reduce + 1;
  add(info, where, std::move(reduce));
  add(std::move(info), where, std::move(gather));
}

void Builder::reduceToRoot(CommandInfo info, plan::ReduceToRootT reduce) {
  uint32_t where = nextLane(reduce.communicator);
  add(std::move(info), where, std::move(reduce));
}

void Builder::copyFromRoot(CommandInfo info, plan::CopyFromRootT copy) {
  uint32_t where = nextLane(copy.communicator);
  add(std::move(info), where, std::move(copy));
}

void Builder::allGather(CommandInfo info, plan::GatherBlocksT gather) {
  if (isAlone(gather.communicator)) {
    for (const plan::GatheredBlocksT &tensor : gather.tensors)
      copy(info, tensor.source, tensor.target);
    return;
  }
  uint32_t where = nextLane(gather.communicator);
  add(std::move(info), where, std::move(gather));
}

void Builder::reduceScatter(CommandInfo info, plan::ReduceBlocksT reduce) {
  uint32_t where = nextLane(reduce.communicator);
  add(std::move(info), where, std::move(reduce));
}

void Builder::exchange(CommandInfo info, plan::ExchangeBlocksT exchange) {
  if (isAlone(exchange.communicator))
    return copy(std::move(info), exchange.source, exchange.target);
  uint32_t where = nextLane(exchange.communicator);
  add(std::move(info), where, std::move(exchange));
}

void Builder::send(CommandInfo info, plan::SendT send) {
  add(std::move(info), lane(plan::LaneKind::copy_out, -1), std::move(send));
}

void Builder::receive(CommandInfo info, plan::ReceiveT receive) {
  add(std::move(info), lane(plan::LaneKind::copy_in, -1), std::move(receive));
}

void Builder::setProvenance(plan::ProvenanceT provenance) {
  plan.provenance = std::make_unique<plan::ProvenanceT>(std::move(provenance));
}

plan::PlanT Builder::finish() {
  plan.devices = countDevices(plan);
  plan.layout = layoutLine(plan);
  lane(plan::LaneKind::compute, -1);
  fillLanes(plan);
  requireTables(plan);
  if (offloads)
    offloadStates(plan, slotBuffers, results, offloadsResults);
  bindResults(plan, slotBuffers, results);
  bool isMoved = addOutside(plan);
  if ((offloads || isMoved) && isSequential)
    chainCommands(plan);
  fillLanes(plan);
  requireTables(plan);
  recordOrigins(plan);
  addEdges(plan);
  elideEdges(plan);
  planMemory(plan);
  requireValidPart(plan);
  plan::PlanT finished = std::move(plan);
  *this = Builder(finished.device_kind);
  return finished;
}

} // namespace epl::runtime
