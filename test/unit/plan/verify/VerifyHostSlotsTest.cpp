// Plans that touch slots in memory of the host as they must not, and the messages that they get.

#include "runtime/plan/verify/Verifier.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace epl::runtime::test {
namespace {

using plan::PlanT;

/// w and v in the host: 0 copy in w, 1 copy in v, 2 update, 3 copy out w, 4 copy out v. The batch is x.
PlanT offloadedPlan() {
  PlanMaker maker;
  maker.setOffload(true);
  uint32_t w = maker.argument("w", plan::SlotRole::state, 64),
           v = maker.argument("v", plan::SlotRole::state, 64);
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 64);
  uint32_t newW = maker.slot("w", plan::SlotRole::result, 64, {}, 0);
  uint32_t newV = maker.slot("v", plan::SlotRole::result, 64, {}, 1);
  uint32_t first = maker.buffer("first", 64), second = maker.buffer("second", 64);
  maker.run("update", {w, v, x}, {first, second});
  maker.setResult(newW, first);
  maker.setResult(newV, second);
  return maker.finish();
}

plan::CopyT &copyOf(PlanT &plan, size_t command) { return *plan.commands[command]->action.AsCopy(); }
std::vector<uint32_t> &launchedBuffers(PlanT &plan) { return plan.commands[2]->action.AsLaunch()->buffers; }

void moveTo(PlanT &plan, uint32_t command, uint32_t lane) {
  std::erase(plan.lanes[plan.commands[command]->lane]->commands, command);
  plan.commands[command]->lane = lane;
  plan.lanes[lane]->commands.push_back(command);
  std::ranges::sort(plan.lanes[lane]->commands);
}

struct Case {
  const char *name;
  std::function<void(PlanT &)> breakIt;
  std::string message;
};

std::ostream &operator<<(std::ostream &out, const Case &each) { return out << each.name; }

class HostRule : public testing::TestWithParam<Case> {};

TEST_P(HostRule, RejectsAPlanThatBreaksIt) {
  PlanT plan = offloadedPlan();
  ASSERT_THAT(verifyPlan(plan), testing::IsEmpty());
  GetParam().breakIt(plan);
  EXPECT_THAT(verifyPlan(plan), testing::Contains(testing::HasSubstr(GetParam().message)));
}

const Case cases[] = {
    {"ABatch", [](PlanT &p) { p.slots[2]->in_host = true; },
     "slot s2 \"x\" is in memory of the host, expected this of states and of results"},
    {"OfAStateAlone", [](PlanT &p) { p.slots[3]->in_host = false; },
     "slot s3 \"w\" is in memory of devices, expected that of slot s0 \"w\", which it updates"},
    {"OfAResultAlone", [](PlanT &p) { p.slots[0]->in_host = false; },
     "slot s3 \"w\" is in memory of the host, expected that of slot s0 \"w\", which it updates"},
    {"AKernelReads", [](PlanT &p) { launchedBuffers(p)[0] = copyOf(p, 0).source; },
     "#2 \"update\" reads slot s0 \"w\" in memory of the host, expected a copy, or another buffer"},
    {"AKernelWrites", [](PlanT &p) { launchedBuffers(p)[3] = copyOf(p, 3).target; },
     "#2 \"update\" writes slot s0 \"w\" in memory of the host, expected a copy, or another buffer"},
    {"AGuard", [](PlanT &p) { p.commands[2]->guards.emplace_back(copyOf(p, 0).source, true); },
     "#2 \"update\" reads slot s0 \"w\" in memory of the host, expected a copy, or another buffer"},
    {"WithinTheHost", [](PlanT &p) { copyOf(p, 0).target = copyOf(p, 1).source; },
     "#0 \"copy in w\" copies slot s0 \"w\" to slot s1 \"v\", both in memory of the host, expected memory of "
     "devices on one side"},
    {"InInALaneThatComputes", [](PlanT &p) { moveTo(p, 0, p.commands[2]->lane); },
     "#0 \"copy in w\" copies slot s0 \"w\" in memory of the host in lane 0, expected a lane of kind "
     "copy_in"},
    {"OutInTheOtherLane", [](PlanT &p) { moveTo(p, 3, p.commands[0]->lane); },
     "#3 \"copy out w\" copies slot s0 \"w\" in memory of the host in lane 1, expected a lane of kind "
     "copy_out"},
    {"AGuardedCopy", [](PlanT &p) { p.commands[3]->guards.emplace_back(copyOf(p, 3).source, true); },
     "#3 \"copy out w\" copies slot s0 \"w\" in memory of the host and has a guard, expected none"},
    {"NoWaitForTheCopy", [](PlanT &p) { p.commands[2]->waits.clear(); }, "#2 \"update\""},
    {"NoWaitForTheValue", [](PlanT &p) { p.commands[3]->waits.clear(); }, "#3 \"copy out w\""},
};

INSTANTIATE_TEST_SUITE_P(HostSlots, HostRule, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

} // namespace
} // namespace epl::runtime::test
