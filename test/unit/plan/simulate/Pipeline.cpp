#include "test/unit/plan/simulate/Pipeline.h"

#include "test/unit/plan/Plans.h"

#include "runtime/plan/build/JoinParts.h"

#include <algorithm>
#include <ranges>
#include <set>

namespace epl::runtime::test {
namespace {

using plan::SlotRole;
using schedule::Kind;
using schedule::Table;
using schedule::Unit;

/// Which mesh has each stage, and what units hand to each other.
class Stages {
public:
  explicit Stages(const Pipeline &pipeline) : pipeline(pipeline) {
    for (uint32_t mesh = 0; mesh < pipeline.table.size(); ++mesh)
      for (Unit unit : pipeline.table[mesh]) {
        meshes[unit.stage] = mesh;
        kinds[unit.stage].insert(unit.kind);
      }
  }

  bool has(Unit unit) const { return pipeline.trains || unit.kind == Kind::forward; }
  bool areApart(Unit a, Unit b) const { return meshes.at(a.stage) != meshes.at(b.stage); }
  bool hasWeight(uint32_t stage) const { return kinds.at(stage).contains(Kind::weight); }

  /// The units whose values one reads, and those that read its own.
  std::vector<Unit> sources(Unit unit) const { return others(unit, unit.kind != Kind::forward); }
  std::vector<Unit> readers(Unit unit) const { return others(unit, unit.kind == Kind::forward); }

private:
  std::vector<Unit> others(Unit unit, bool isBehind) const {
    std::vector<Unit> found;
    for (auto [from, to] : pipeline.edges)
      if (unit.kind != Kind::weight && (isBehind ? from : to) == unit.stage)
        found.push_back({isBehind ? to : from, kindOf(isBehind ? to : from, unit), unit.microBatch});
    return found;
  }
  /// What works in another stage as a unit does in its own.
  Kind kindOf(uint32_t stage, Unit unit) const {
    return unit.kind == Kind::forward                 ? Kind::forward
           : kinds.at(stage).contains(Kind::backward) ? Kind::backward
                                                      : Kind::input;
  }

  const Pipeline &pipeline;
  std::map<uint32_t, uint32_t> meshes;
  std::map<uint32_t, std::set<Kind>> kinds;
};

class MeshMaker {
public:
  MeshMaker(const Stages &stages, const std::vector<UnitChannel> &channels, const Depths &depths,
            uint32_t bytes)
      : stages(stages), channels(channels), depths(depths), bytes(bytes) {}

  plan::PlanT make(const std::vector<Unit> &lane) {
    input = maker.argument("x", SlotRole::batch, bytes);
    uint32_t result = maker.slot("sum", SlotRole::result, bytes);
    maker.addUnits(0, lane);
    sum = input;
    for (uint32_t index = 0; index < lane.size(); ++index)
      if (stages.has(lane[index])) {
        maker.beginUnit(index);
        add(lane[index]);
      }
    maker.endUnits();
    maker.setResult(result, sum);
    return maker.finish();
  }

private:
  void add(Unit unit) {
    std::vector<uint32_t> inputs = receive(unit), outputs;
    if (unit.kind != Kind::forward)
      inputs.push_back(values.at({unit.stage, Kind::forward, unit.microBatch}));
    if (unit.kind == Kind::weight)
      inputs.push_back(values.at({unit.stage, Kind::input, unit.microBatch}));
    else
      outputs.push_back(values[unit] = maker.buffer("value", bytes));
    if (unit.kind == Kind::weight || unit.kind == Kind::backward ||
        (unit.kind == Kind::input && !stages.hasWeight(unit.stage))) {
      inputs.push_back(sum);
      outputs.push_back(sum = maker.buffer("sum", bytes));
    }
    maker.run(schedule::toString(unit), inputs, outputs);
    send(unit);
  }

  /// What other units hand to one; the step's input if none does.
  std::vector<uint32_t> receive(Unit unit) {
    std::vector<uint32_t> received;
    for (Unit source : stages.sources(unit)) {
      received.push_back(stages.areApart(source, unit) ? maker.buffer("received", bytes) : values.at(source));
      if (stages.areApart(source, unit))
        maker.take(number(source, unit), received.back(), bytes, {}, unit.microBatch, depth(source, unit));
    }
    return received.empty() ? std::vector<uint32_t>{input} : received;
  }

  void send(Unit unit) {
    for (Unit reader : std::views::reverse(stages.readers(unit)))
      if (stages.areApart(unit, reader))
        maker.put(number(unit, reader), values.at(unit), bytes, {}, unit.microBatch, depth(unit, reader));
  }

  uint32_t number(Unit sender, Unit receiver) const {
    sender.microBatch = receiver.microBatch = 0;
    return uint32_t(std::ranges::find(channels, UnitChannel{sender, receiver}) - channels.begin());
  }
  uint32_t depth(Unit sender, Unit receiver) const { return depths(channels[number(sender, receiver)]); }

  const Stages &stages;
  const std::vector<UnitChannel> &channels;
  const Depths &depths;
  uint32_t bytes;
  PlanMaker maker;
  std::map<Unit, uint32_t> values; // activations, and gradients of backward work
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

Edges chainOf(const Table &table) {
  Edges edges;
  for (uint32_t stage = 1; stage < schedule::extentsOf(table).stages; ++stage)
    edges.emplace_back(stage - 1, stage);
  return edges;
}

std::vector<UnitChannel> channelsOf(const Pipeline &pipeline) {
  Stages stages(pipeline);
  std::vector<UnitChannel> channels;
  for (const std::vector<Unit> &lane : pipeline.table)
    for (Unit unit : lane)
      for (Unit source : stages.sources(unit))
        if (unit.microBatch == 0 && stages.has(unit) && stages.areApart(source, unit))
          channels.push_back({source, unit});
  return channels;
}

plan::PlanT pipelinePlan(const Pipeline &pipeline, const Depths &depths, uint32_t bytes) {
  Stages stages(pipeline);
  std::vector<UnitChannel> channels = channelsOf(pipeline);
  std::vector<plan::SlotT> slots;
  std::vector<plan::PartT> parts(pipeline.table.size());
  slots.push_back(slotOf("x", SlotRole::batch, bytes));
  for (uint32_t mesh = 0; mesh < parts.size(); ++mesh) {
    slots.push_back(slotOf("sum", SlotRole::result, bytes));
    MeshMaker maker(stages, channels, depths, bytes);
    parts[mesh].plan = std::make_unique<plan::PlanT>(maker.make(pipeline.table[mesh]));
    parts[mesh].first = mesh;
    parts[mesh].slots = {0, mesh + 1};
  }
  plan::PlanT common;
  common.device_kind = "cpu";
  return joinParts(std::move(common), std::move(slots), std::move(parts));
}

plan::PlanT pipelinePlan(const Table &table, uint32_t depth, uint32_t bytes) {
  return pipelinePlan({table, chainOf(table)}, [&](const UnitChannel &) { return depth; }, bytes);
}

} // namespace epl::runtime::test
