// Plans that pull and push as they must not, and the messages that they get.

#include "runtime/plan/verify/Verifier.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace epl::runtime::test {
namespace {

using plan::PlanT;

plan::CommandT &command(PlanT &plan, const std::string &name) {
  return *plan.commands[findCommand(plan, name)];
}

void moveTo(PlanT &plan, const std::string &name, uint32_t lane) {
  uint32_t index = findCommand(plan, name);
  std::erase(plan.lanes[plan.commands[index]->lane]->commands, index);
  plan.commands[index]->lane = lane;
  plan.lanes[lane]->commands.push_back(index);
  std::ranges::sort(plan.lanes[lane]->commands);
}

uint32_t laneOf(const PlanT &plan, plan::LaneKind kind) {
  for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane)
    if (plan.lanes[lane]->kind == kind)
      return lane;
  return 0;
}

struct Case {
  const char *name;
  std::function<void(PlanT &)> breakIt;
  std::string message;
};

std::ostream &operator<<(std::ostream &out, const Case &each) { return out << each.name; }

class OutsideRule : public testing::TestWithParam<Case> {};

TEST_P(OutsideRule, RejectsAPlanThatBreaksIt) {
  PlanT plan = outsidePlan();
  ASSERT_THAT(verifyPlan(plan), testing::IsEmpty());
  GetParam().breakIt(plan);
  EXPECT_THAT(verifyPlan(plan), testing::Contains(testing::HasSubstr(GetParam().message)));
}

const Case cases[] = {
    {"NoPull",
     [](PlanT &p) {
       command(p, "pulled b").action.AsPull()->target = command(p, "pulled w").action.AsPull()->target;
     },
     "slot s1 \"b\" is pulled by 0 commands, expected one"},
    {"TwoPulls",
     [](PlanT &p) {
       command(p, "pulled b").action.AsPull()->target = command(p, "pulled w").action.AsPull()->target;
     },
     "slot s0 \"w\" is pulled by 2 commands, expected one"},
    {"TwoPushes",
     [](PlanT &p) {
       command(p, "of b").action.AsPush()->source = command(p, "of w").action.AsPush()->source;
     },
     "slot s4 \"of w\" is pushed by 2 commands, expected one"},
    {"OfAResultThatIsReturned", [](PlanT &p) { p.slots[3]->role = plan::SlotRole::pushed; },
     "slot s3 \"loss\" is pushed by 0 commands, expected one"},
    {"OfABatch", [](PlanT &p) { p.slots[2]->role = plan::SlotRole::pulled; },
     "slot s2 \"x\" is pulled by 0 commands, expected one"},
    {"PullsAConstant", [](PlanT &p) { p.slots[1]->role = plan::SlotRole::constant; },
     "#0 \"pulled b\" names buffer b1 \"b\", expected that of a pulled slot"},
    {"PushesWhatIsReturned", [](PlanT &p) { p.slots[5]->role = plan::SlotRole::result; },
     "slot s5 \"of b\" is behind a pushed result, expected these behind all other slots"},
    {"PushesABuffer",
     [](PlanT &p) {
       command(p, "of w").action.AsPush()->source = command(p, "scale").action.AsLaunch()->buffers[2];
     },
     "\"of w\" names buffer "},
    {"InALaneThatComputes", [](PlanT &p) { moveTo(p, "pulled b", laneOf(p, plan::LaneKind::compute)); },
     "#0 \"pulled b\" is a pull and in lane 0, which is of kind compute"},
    {"InTheOtherLane", [](PlanT &p) { moveTo(p, "of w", laneOf(p, plan::LaneKind::pull)); },
     "\"of w\" is a push and in lane "},
    {"AKernelInALaneForPulls", [](PlanT &p) { moveTo(p, "shift", laneOf(p, plan::LaneKind::pull)); },
     "\"shift\" is no pull and in lane "},
    {"AGuard", [](PlanT &p) { command(p, "of w").guards.emplace_back(0, true); },
     "\"of w\" has a guard, expected none"},
    {"AnOwner", [](PlanT &p) { command(p, "of w").owner = std::make_unique<plan::Owner>(0, 1); },
     "\"of w\" has an owner, expected that all ranks run it"},
    {"OfAUnit", [](PlanT &p) { command(p, "pulled b").unit = 0; },
     "\"pulled b\" is of a unit, expected none"},
    {"NoWaitForThePull", [](PlanT &p) { command(p, "shift").waits.clear(); },
     "command #0 \"pulled b\" writes and command #2 \"shift\" reads"},
    {"NoWaitForTheValue", [](PlanT &p) { command(p, "of w").waits.clear(); },
     "\"descend\" writes and command #9 \"of w\" reads"},
    {"WrittenBehindItsPush",
     [](PlanT &p) {
       command(p, "descend").action.AsLaunch()->buffers[2] = command(p, "of b").action.AsPush()->source;
     },
     "\"descend\" writes slot s5 \"of b\" behind its push"},
    {"WrittenByAnother",
     [](PlanT &p) {
       command(p, "loss").action.AsLaunch()->buffers[0] = command(p, "pulled w").action.AsPull()->target;
       command(p, "scale").action.AsLaunch()->buffers[2] = command(p, "pulled w").action.AsPull()->target;
     },
     "writes slot s0 \"w\", which no result updates"},
};

INSTANTIATE_TEST_SUITE_P(Outside, OutsideRule, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

} // namespace
} // namespace epl::runtime::test
