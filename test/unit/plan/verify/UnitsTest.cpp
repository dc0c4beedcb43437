// Units of micro-batches: what they add to a plan, and what is wrong with those that are none.
#include "test/unit/plan/Plans.h"

#include "runtime/plan/schedule/Generators.h"
#include "runtime/plan/verify/Verifier.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using plan::PlanT;
using testing::ElementsAre;
using testing::HasSubstr;

/// One mesh that takes a sum over two micro-batches: F makes what B adds.
PlanT sumPlan() {
  PlanMaker maker;
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 16);
  uint32_t result = maker.slot("sum", plan::SlotRole::result, 16);
  std::vector<schedule::Unit> units = schedule::generate("1f1b", {.meshes = 1, .microBatches = 2})[0];
  maker.addUnits(0, units);
  uint32_t sum = x;
  for (uint32_t unit = 0; unit < units.size(); unit += 2) {
    uint32_t kept = maker.buffer("kept", 16), next = maker.buffer("next", 16);
    maker.beginUnit(unit);
    maker.run("forward", {x}, {kept});
    maker.beginUnit(unit + 1);
    maker.run("backward", {kept, sum}, {next});
    sum = next;
  }
  maker.endUnits();
  maker.setResult(result, sum);
  return maker.finish();
}

TEST(Units, AreThoseOfCommands) {
  PlanT plan = sumPlan();
  std::vector<int32_t> units;
  for (const auto &command : plan.commands)
    units.push_back(command->unit);
  EXPECT_THAT(units, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(verifyPlan(plan), testing::IsEmpty());
}

struct Case {
  const char *name;
  void (*change)(PlanT &);
  const char *message;
};

class UnitsRule : public testing::TestWithParam<Case> {};

TEST_P(UnitsRule, RejectsAPlanThatBreaksIt) {
  PlanT plan = sumPlan();
  GetParam().change(plan);
  EXPECT_THAT(verifyPlan(plan), testing::Contains(HasSubstr(GetParam().message)));
}

const Case cases[] = {
    {"NoSuchUnit", [](PlanT &p) { p.commands[0]->unit = 4; }, "command #0 \"forward\" is of unit 4 of 4"},
    {"NegativeUnit", [](PlanT &p) { p.commands[0]->unit = -2; }, "is of unit -2 of 4"},
    {"OrderOfALane", [](PlanT &p) { std::swap(p.commands[1]->unit, p.commands[2]->unit); },
     "command #2 \"forward\" is of unit s0.B.m0 and stands in lane 0 behind one of the later unit s0.F.m1"},
    {"NoSuchKind", [](PlanT &p) { p.units[1] = plan::Unit(0, 0, plan::UnitKind(4), 0); }, "has kind 4 of 4"},
    {"UnitTwice", [](PlanT &p) { p.units[2] = p.units[0]; },
     "schedule of loop 0: mesh 0, word 3: s0.F.m0 is at"},
    {"UnitMissing", [](PlanT &p) { p.units.pop_back(), p.commands[3]->unit = -1; },
     "schedule of loop 0: s0.B.m1 is missing"},
    {"OtherLoop", [](PlanT &p) { p.units[3] = plan::Unit(1, 0, plan::UnitKind::backward, 1); },
     "schedule of loop 1: "},
    {"SumsOutOfOrder", [](PlanT &p) { std::swap(p.units[0], p.units[2]); }, "sums out of order"}};

std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Rules, UnitsRule, testing::ValuesIn(cases), nameOf);

/// A stage in the middle of an inference: each unit receives, computes and sends.
PlanT relayPlan(uint32_t microBatches) {
  PlanMaker maker;
  uint32_t result = maker.slot("last", plan::SlotRole::result, 256);
  std::vector<schedule::Unit> units;
  for (uint32_t i = 0; i < microBatches; ++i)
    units.push_back({1, schedule::Kind::forward, i});
  maker.addUnits(0, units);
  uint32_t last = 0;
  for (uint32_t i = 0; i < microBatches; ++i) {
    uint32_t in = maker.buffer("in", 256);
    last = maker.buffer("out", 256);
    maker.beginUnit(i);
    maker.take(0, in, 256, {}, i);
    maker.run("next", {in}, {last});
    maker.put(1, last, 256, {}, i);
  }
  maker.endUnits();
  maker.setResult(result, last);
  return maker.finish();
}

std::vector<uint32_t> waitsOf(const PlanT &plan, uint32_t command) {
  std::vector<uint32_t> waits;
  for (const plan::Wait &wait : plan.commands[command]->waits)
    waits.push_back(wait.command());
  return waits;
}

/// Commands 3 k, 3 k + 1 and 3 k + 2 are those of unit k.
TEST(Units, WaitForTheUnitBeforeThePreviousOne) {
  PlanT plan = relayPlan(4);
  EXPECT_THAT(waitsOf(plan, 3), ElementsAre()) << "a receive of unit 1";
  EXPECT_THAT(waitsOf(plan, 6), ElementsAre(1)) << "a receive of unit 2, for what unit 0 computes";
  EXPECT_THAT(waitsOf(plan, 7), ElementsAre(2, 6)) << "unit 2, for what unit 0 sends, and its receive";
}

TEST(Units, UseMemoryAgain) {
  EXPECT_EQ(relayPlan(32).arena_size, relayPlan(6).arena_size);
  EXPECT_LE(relayPlan(6).arena_size, 256u * 6);
}

} // namespace
} // namespace epl::runtime::test
