// Channels have the fewest places with which nobody waits, beside plans in time.
#include "runtime/plan/schedule/Rings.h"
#include "test/unit/plan/simulate/Pipeline.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/model/Parts.h"
#include "runtime/plan/schedule/Generators.h"
#include "runtime/plan/schedule/Text.h"
#include "runtime/plan/simulate/UnitTimes.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

namespace epl::runtime::test {
namespace {

using schedule::Rings;
using schedule::Shape;
using schedule::Table;
using schedule::Unit;
using Times = std::vector<std::vector<double>>;

struct Case {
  std::string name;
  Pipeline pipeline;
};

/// As PlanSchedule::getWork has it: units that do something, each behind those that send to it.
schedule::Work workOf(const Pipeline &pipeline) {
  std::map<Unit, std::vector<Unit>> senders;
  for (auto [sender, receiver] : channelsOf(pipeline))
    senders[receiver].push_back(sender);
  auto needs = [senders = std::move(senders)](Unit unit) {
    auto own = senders.find({unit.stage, unit.kind, 0});
    std::vector<Unit> needs = own == senders.end() ? std::vector<Unit>() : own->second;
    for (Unit &need : needs)
      need.microBatch = unit.microBatch;
    return needs;
  };
  auto has = [trains = pipeline.trains](Unit unit) { return trains || unit.kind == schedule::Kind::forward; };
  return {.has = has, .needs = needs};
}

std::map<UnitChannel, uint32_t> depthsOf(const Pipeline &pipeline) {
  Rings rings(pipeline.table, workOf(pipeline));
  std::map<UnitChannel, uint32_t> depths;
  for (const UnitChannel &channel : channelsOf(pipeline))
    depths[channel] = rings.depth(channel.sender, channel.receiver);
  return depths;
}

plan::PlanT planOf(const Pipeline &pipeline, const std::map<UnitChannel, uint32_t> &depths) {
  return pipelinePlan(pipeline, [&](const UnitChannel &channel) { return depths.at(channel); });
}

/// Chains, and those with a value that goes past stages, sent and received first or last.
std::vector<Case> casesOf(const std::string &name, const Table &table) {
  Edges chain = chainOf(table);
  std::vector<Case> cases{{name, {table, chain}}};
  auto stages = uint32_t(chain.size() + 1);
  for (auto [from, to] : Edges{{0, 2}, {0, stages - 1}, {1, stages - 1}})
    if (from + 1 < to && to < stages)
      for (bool isFirst : {false, true}) {
        Edges edges = chain;
        edges.insert(isFirst ? edges.begin() : edges.end(), {from, to});
        cases.push_back({name + " past " + std::to_string(from) + " " + std::to_string(to), {table, edges}});
      }
  return cases;
}

std::vector<Case> cases(uint32_t times = 2) {
  std::vector<Case> cases;
  for (const schedule::Generator &generator : schedule::getGenerators())
    for (uint32_t meshes : {2u, 3u, 4u}) {
      Shape shape{meshes, generator.hasSeveralStages ? 2u : 1u, times * meshes};
      for (Case &each : casesOf(std::string(generator.name) + " " + std::to_string(meshes),
                                schedule::generate(generator.name, shape)))
        cases.push_back(std::move(each));
    }
  return cases;
}

/// There and back: examples/schedules/zb-v-p2-m4.txt.
const char *const vText =
    "s0.F.m0 s0.F.m1 s0.F.m2 s3.F.m0 s3.I.m0 s3.W.m0 s3.F.m1 s3.I.m1 s0.I.m0 s3.W.m1 s0.I.m1 s0.W.m0 "
    "s0.F.m3 s3.F.m2 s3.I.m2 s3.W.m2 s0.W.m1 s0.I.m2 s0.W.m2 s3.F.m3 s3.I.m3 s3.W.m3 s0.I.m3 s0.W.m3\n"
    "s1.F.m0 s2.F.m0 s1.F.m1 s2.F.m1 s2.I.m0 s1.I.m0 s2.W.m0 s2.I.m1 s1.I.m1 s2.W.m1 s1.F.m2 s2.F.m2 "
    "s1.W.m0 s1.W.m1 s2.I.m2 s1.I.m2 s1.F.m3 s2.F.m3 s2.W.m2 s1.W.m2 s2.I.m3 s1.I.m3 s2.W.m3 s1.W.m3\n";

/// Stages on meshes and units in orders that are drawn, as data flow allows; and what goes past stages.
class RandomCase {
public:
  explicit RandomCase(uint32_t seed) : random(seed), stages(draw(3, 6)), meshes(draw(2, stages)) {}

  Case make(const std::string &name) {
    std::vector<std::vector<Unit>> left; // of each stage and kind, the next one last
    Table units(1);
    for (uint32_t stage = 0; stage < stages; ++stage) {
      meshOf.push_back(stage < meshes ? stage : draw(0, meshes - 1));
      std::string_view kinds = draw(0, 1) == 0 ? "FB" : "FIW";
      for (char kind : kinds)
        left.push_back(unitsOf(stage, schedule::Kind(schedule::kindLetters.find(kind))));
      for (auto own = left.end() - int64_t(kinds.size()); own != left.end(); ++own)
        units[0].insert(units[0].end(), own->begin(), own->end());
    }
    Table table = order(std::move(left), schedule::Flow(units));
    Edges edges = chainOf(table);
    for (uint32_t count = draw(0, 3); count > 0; --count)
      if (uint32_t from = draw(0, stages - 3), to = draw(from + 2, stages - 1);
          std::ranges::find(edges, std::pair(from, to)) == edges.end())
        edges.insert(edges.begin() + draw(0, uint32_t(edges.size())), {from, to});
    return {name, {std::move(table), std::move(edges)}};
  }

private:
  uint32_t draw(uint32_t first, uint32_t last) {
    return std::uniform_int_distribution<uint32_t>(first, last)(random);
  }

  static std::vector<Unit> unitsOf(uint32_t stage, schedule::Kind kind) {
    std::vector<Unit> units;
    for (uint32_t microBatch = 6; microBatch-- > 0;)
      units.push_back({stage, kind, microBatch});
    return units;
  }

  Table order(std::vector<std::vector<Unit>> left, const schedule::Flow &flow) {
    Table table(meshes);
    std::set<Unit> done;
    while (!left.empty()) {
      auto own = left.begin() + draw(0, uint32_t(left.size()) - 1);
      Unit unit = own->back();
      if (!std::ranges::all_of(flow.needs(unit), [&](Unit need) { return done.contains(need); }))
        continue;
      table[meshOf[unit.stage]].push_back(unit);
      done.insert(unit);
      own->pop_back();
      if (own->empty())
        left.erase(own);
    }
    return table;
  }

  std::mt19937 random;
  uint32_t stages, meshes;
  std::vector<uint32_t> meshOf; // each stage
};

/// Those that train, and the same without gradients.
std::vector<Case> allCases() {
  std::vector<Case> all = cases();
  for (uint32_t seed = 0; seed < 40; ++seed)
    all.push_back(RandomCase(seed).make("random " + std::to_string(seed)));
  for (Case &each : casesOf("zb-v", schedule::parse(vText, "zb-v").table))
    all.push_back(std::move(each));
  for (size_t index = 0, count = all.size(); index < count; ++index) {
    Case forward = all[index];
    forward.name += " forward";
    forward.pipeline.trains = false;
    all.push_back(std::move(forward));
  }
  return all;
}

/// Which of two meshes comes first, where both do at one time, is chance: units take a little more or less
/// than their table says, and messages take a little time, too.
Times shaken(Times times, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(0.999, 1.001), little(0, 0.001);
  for (std::vector<double> &part : times)
    for (double &time : part)
      time = time > 0 ? time * share(random) : little(random);
  return times;
}

/// Whether there is room for each message when the unit that makes it ends.
bool findRoom(const plan::PlanT &plan, const PlanRun &run) {
  for (const std::vector<MessageEnds> &messages : runtime::channelsOf(plan))
    for (size_t message = 0; message < messages.size(); ++message) {
      auto [part, send] = messages[message].send;
      const plan::PlanT &sender = *plan.parts[part]->plan;
      uint32_t depth = sender.commands[send]->action.AsSend()->depth, made = send - 1;
      while (sender.lanes[sender.commands[made]->lane]->kind != plan::LaneKind::compute)
        --made;
      if (message < depth)
        continue;
      PartCommand before = messages[message - depth].receive;
      if (run.meshes[before.part].commands[before.command].end > run.meshes[part].commands[made].end)
        return false;
    }
  return true;
}

TEST(Rings, NoSendWaits) {
  for (const auto &[name, pipeline] : allCases()) {
    plan::PlanT plan = planOf(pipeline, depthsOf(pipeline));
    Times times = commandTimes(plan, {});
    for (bool shared : {true, false}) {
      PlanRun run = simulate(plan, {.nanoseconds = times, .lanesShareThread = shared});
      EXPECT_EQ(run.makespan, schedule::simulate(pipeline.table, {}, workOf(pipeline)).makespan) << name;
      for (uint32_t seed = 0; seed < 5; ++seed) {
        Times other = shaken(times, seed);
        EXPECT_TRUE(findRoom(plan, simulate(plan, {.nanoseconds = other, .lanesShareThread = shared})))
            << name << ", seed " << seed;
      }
    }
  }
}

/// Whether some send of a plan waits, if all other channels have room for all; or the plan never ends.
bool waits(const Pipeline &pipeline, const UnitChannel &channel, uint32_t depth) {
  std::map<UnitChannel, uint32_t> depths;
  for (const UnitChannel &other : channelsOf(pipeline))
    depths[other] = other == channel ? depth : schedule::extentsOf(pipeline.table).microBatches;
  try {
    plan::PlanT plan = planOf(pipeline, depths);
    for (uint32_t seed = 0; seed < 100; ++seed) {
      Times times = shaken(commandTimes(plan, {}), seed);
      if (!findRoom(plan, simulate(plan, {.nanoseconds = times})))
        return true;
    }
    return false;
  } catch (const PlanError &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the parts never end"));
    return true;
  }
}

TEST(Rings, WithOneFewerOneWaits) {
  uint32_t count = 0;
  for (const auto &[name, pipeline] : allCases())
    for (auto [channel, depth] : depthsOf(pipeline))
      if (depth > 1) {
        ++count;
        EXPECT_TRUE(waits(pipeline, channel, depth - 1))
            << name << ": " << schedule::toString(channel.sender) << " to "
            << schedule::toString(channel.receiver) << ", " << depth;
      }
  EXPECT_GT(count, 300u);
}

TEST(Rings, DoNotGrowWithMicroBatches) {
  std::vector<Case> few = cases(3), many = cases(12);
  for (size_t index = 0; index < few.size(); ++index)
    EXPECT_EQ(depthsOf(few[index].pipeline), depthsOf(many[index].pipeline)) << few[index].name;
}

constexpr UnitChannel pastTheSecond{{0, schedule::Kind::forward, 0}, {2, schedule::Kind::forward, 0}};

/// The third stage receives a message of the first as the first has made the next one: a send that finds its
/// place taken is done when the unit after it has ended.
TEST(Rings, RoomThatIsMadeAtThatMomentIsNone) {
  Pipeline pipeline{schedule::generate("gpipe", {.meshes = 3, .microBatches = 4}), {{0, 1}, {1, 2}, {0, 2}}};
  std::map<UnitChannel, uint32_t> depths = depthsOf(pipeline);
  EXPECT_EQ(depths.at(pastTheSecond), 2);
  auto makespan = [&] {
    plan::PlanT plan = planOf(pipeline, depths);
    return simulate(plan, {.nanoseconds = commandTimes(plan, {})}).makespan;
  };
  EXPECT_EQ(makespan(), 18);
  depths.at(pastTheSecond) = 1;
  EXPECT_EQ(makespan(), 19);
}

/// A first stage that does forward work ahead, as in this schedule, is two messages ahead of a third one that
/// does backward work in between; one, if there is none.
TEST(Rings, WhatAProgramDoesNotDoTakesNoTime) {
  Pipeline pipeline{schedule::generate("preferbackwardoptimizer", {.meshes = 3, .microBatches = 12}),
                    {{0, 1}, {1, 2}, {0, 2}}};
  EXPECT_EQ(depthsOf(pipeline).at(pastTheSecond), 3);
  pipeline.trains = false;
  EXPECT_EQ(depthsOf(pipeline).at(pastTheSecond), 2);
}

} // namespace
} // namespace epl::runtime::test
