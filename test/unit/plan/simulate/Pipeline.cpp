#include "test/unit/plan/simulate/Pipeline.h"

#include "test/unit/plan/Plans.h"

#include "runtime/plan/build/JoinParts.h"

namespace epl::runtime::test {
namespace {

using plan::SlotRole;
using schedule::Kind;
using schedule::Unit;

/// Which mesh has each stage, and the channels between neighbours on different meshes.
struct Stages {
  explicit Stages(const schedule::Table &table) {
    for (uint32_t mesh = 0; mesh < table.size(); ++mesh)
      for (Unit unit : table[mesh]) {
        meshes[unit.stage] = mesh;
        splits[unit.stage] |= unit.kind == Kind::weight;
      }
    for (auto [stage, mesh] : meshes)
      if (meshes.contains(stage + 1) && meshes.at(stage + 1) != mesh) {
        forward[stage] = channels++;
        backward[stage + 1] = channels++;
      }
  }
  std::map<uint32_t, uint32_t> meshes, forward, backward; // channels of the stage that sends
  std::map<uint32_t, bool> splits;                        // whether a stage has W
  uint32_t channels = 0;
};

class MeshMaker {
public:
  MeshMaker(const Stages &stages, uint32_t depth, uint32_t bytes)
      : stages(stages), depth(depth), bytes(bytes) {}

  plan::PlanT make(const std::vector<Unit> &lane) {
    input = maker.argument("x", SlotRole::batch, bytes);
    uint32_t result = maker.slot("sum", SlotRole::result, bytes);
    maker.addUnits(0, lane);
    sum = input;
    for (uint32_t index = 0; index < lane.size(); ++index) {
      maker.beginUnit(index);
      lane[index].kind == Kind::forward ? forward(lane[index]) : backward(lane[index]);
    }
    maker.endUnits();
    maker.setResult(result, sum);
    return maker.finish();
  }

private:
  using Values = std::map<std::pair<uint32_t, uint32_t>, uint32_t>; // of stages and micro-batches

  /// What the neighbour `from` of a unit's stage hands to it.
  uint32_t handed(Unit unit, uint32_t from, const std::map<uint32_t, uint32_t> &channels, Values &own) {
    if (!stages.meshes.contains(from))
      return input;
    auto channel = channels.find(from);
    if (channel == channels.end())
      return own.at({from, unit.microBatch});
    uint32_t value = maker.buffer("received", bytes);
    maker.take(channel->second, value, bytes, {}, unit.microBatch, depth);
    return value;
  }

  void handOn(Unit unit, uint32_t value, const std::map<uint32_t, uint32_t> &channels) {
    if (auto channel = channels.find(unit.stage); channel != channels.end())
      maker.put(channel->second, value, bytes, {}, unit.microBatch, depth);
  }

  void forward(Unit unit) {
    uint32_t in = handed(unit, unit.stage - 1, stages.forward, activations);
    uint32_t out = activations[{unit.stage, unit.microBatch}] = maker.buffer("activation", bytes);
    maker.run("forward", {in}, {out});
    handOn(unit, out, stages.forward);
  }

  void backward(Unit unit) {
    uint32_t kept = activations.at({unit.stage, unit.microBatch});
    bool adds = unit.kind != Kind::input || !stages.splits.at(unit.stage);
    if (unit.kind == Kind::weight)
      return add({gradients.at({unit.stage, unit.microBatch}), sum});
    uint32_t in = handed(unit, unit.stage + 1, stages.backward, gradients);
    uint32_t out = gradients[{unit.stage, unit.microBatch}] = maker.buffer("gradient", bytes);
    if (adds) {
      uint32_t next = maker.buffer("sum", bytes);
      maker.run("backward", {kept, in, sum}, {out, next});
      sum = next;
    } else {
      maker.run("input", {kept, in}, {out});
    }
    handOn(unit, out, stages.backward);
  }

  void add(const std::vector<uint32_t> &inputs) {
    uint32_t next = maker.buffer("sum", bytes);
    maker.run("weight", inputs, {next});
    sum = next;
  }

  const Stages &stages;
  uint32_t depth, bytes;
  PlanMaker maker;
  Values activations, gradients;
  uint32_t input = 0, sum = 0;
};

plan::SlotT slotOf(const std::string &name, SlotRole role, uint32_t bytes) {
  plan::SlotT slot;
  slot.name = name;
  slot.role = role;
  slot.type = plan::ElementType::i8;
  slot.shape = {bytes};
  slot.sharding.push_back(std::make_unique<plan::DimShardingT>());
  return slot;
}

} // namespace

plan::PlanT pipelinePlan(const schedule::Table &table, uint32_t depth, uint32_t bytes) {
  Stages stages(table);
  std::vector<plan::SlotT> slots;
  std::vector<plan::PartT> parts(table.size());
  slots.push_back(slotOf("x", SlotRole::batch, bytes));
  for (uint32_t mesh = 0; mesh < table.size(); ++mesh) {
    slots.push_back(slotOf("sum", SlotRole::result, bytes));
    parts[mesh].plan = std::make_unique<plan::PlanT>(MeshMaker(stages, depth, bytes).make(table[mesh]));
    parts[mesh].first = mesh;
    parts[mesh].slots = {0, mesh + 1};
  }
  plan::PlanT common;
  common.device_kind = "cpu";
  return joinParts(std::move(common), std::move(slots), std::move(parts));
}

} // namespace epl::runtime::test
