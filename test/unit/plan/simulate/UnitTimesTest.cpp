// A plan whose units take what they take in its table takes as long as the table.
#include "test/unit/plan/simulate/Pipeline.h"

#include "runtime/plan/model/Units.h"
#include "runtime/plan/schedule/Generators.h"
#include "runtime/plan/simulate/UnitTimes.h"

#include <gmock/gmock.h>

namespace epl::runtime::test {
namespace {

using schedule::Costs;
using schedule::Shape;
using schedule::Table;

struct Case {
  std::string name;
  Shape shape;
};

std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const schedule::Generator &generator : schedule::getGenerators())
    for (uint32_t meshes : {2u, 3u, 4u})
      for (uint32_t microBatches : {1u, 4u, 12u, 16u}) {
        uint32_t stages = generator.hasSeveralStages ? 2 : 1;
        if (!generator.hasSeveralStages || microBatches % meshes == 0)
          cases.push_back({std::string(generator.name), {meshes, stages, microBatches}});
      }
  return cases;
}

class UnitTimes : public testing::TestWithParam<Case> {
protected:
  Table table = schedule::generate(GetParam().name, GetParam().shape);
  plan::PlanT plan = pipelinePlan(table, GetParam().shape.microBatches);
};

TEST_P(UnitTimes, MakeThePlanAsLongAsItsTable) {
  for (const Costs &costs :
       {Costs{}, Costs{.forward = 3, .backward = 5, .input = 4, .weight = 1, .link = 0.5}}) {
    PlanRun run =
        simulate(plan, {.nanoseconds = commandTimes(plan, costs), .link = {.nanoseconds = costs.link}});
    schedule::Run expected = schedule::simulate(table, costs), found = unitsOf(plan, run);
    EXPECT_NEAR(run.makespan, expected.makespan, 1e-9 * expected.makespan);
    EXPECT_NEAR(run.bubble(), expected.bubble(), 1e-9);
    EXPECT_EQ(found.kept, expected.kept);
    for (size_t mesh = 0; mesh < table.size(); ++mesh)
      for (size_t unit = 0; unit < table[mesh].size(); ++unit) {
        EXPECT_EQ(found.spans[mesh][unit].unit, table[mesh][unit]);
        EXPECT_NEAR(found.spans[mesh][unit].begin, expected.spans[mesh][unit].begin, 1e-9);
      }
  }
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name + "OnMeshes" + std::to_string(info.param.shape.meshes) + "MicroBatches" +
         std::to_string(info.param.shape.microBatches);
}
INSTANTIATE_TEST_SUITE_P(Schedules, UnitTimes, testing::ValuesIn(cases()), nameOf);

TEST(UnitTimesOf, CommandsThatTakeNoneAreNotDrawn) {
  Table table = schedule::generate("1f1b", {.meshes = 2, .microBatches = 2});
  plan::PlanT plan = pipelinePlan(table, 1);
  schedule::Run units = unitsOf(plan, simulate(plan, {.nanoseconds = commandTimes(plan, {.forward = 0})}));
  EXPECT_THAT(units.spans[0], testing::SizeIs(2));
  EXPECT_EQ(units.spans[0][0].unit.kind, schedule::Kind::backward);
}

} // namespace
} // namespace epl::runtime::test
