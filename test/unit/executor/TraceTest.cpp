#include "TestPlan.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace epl::runtime::test {
namespace {

using nlohmann::json;
using plan::ElementType;

/// Two commands on each of two ranks.
std::shared_ptr<const plan::PlanT> makePlan() {
  TestPlan plan(2);
  uint32_t buffer = plan.buffer(8);
  uint32_t first = plan.launch("coordinate", 1, {buffer});
  plan.allReduce(plan::ReductionKind::sum, ElementType::i64, buffer, plan.buffer(8), 1,
                 {afterMembers(first)});
  return plan.finish();
}

std::vector<json> eventsOf(Session &session, const std::string &phase) {
  std::vector<json> events;
  json trace = json::parse(session.traceJson());
  for (const json &event : trace["traceEvents"])
    if (event["ph"] == phase)
      events.push_back(event);
  return events;
}

TEST(Trace, HoldsEveryCommandOfTheCallsRecorded) {
  Session session(makePlan(), "cpu:2");
  session.call({}, {}, "step");
  session.trace(true);
  session.call({}, {}, "step");
  session.call({}, {}, "step");
  session.trace(false);
  session.call({}, {}, "step");
  auto events = eventsOf(session, "X");
  ASSERT_EQ(events.size(), 2u * 2 * 3); // calls, ranks, commands
  int launches = 0;
  for (const json &event : events) {
    EXPECT_GE(event["dur"], 0);
    EXPECT_THAT(event["args"]["call"], testing::AnyOf(2, 3));
    if (event["name"] != "coordinate")
      continue;
    ++launches;
    EXPECT_EQ(event["args"]["kernel"], "coordinate");
    EXPECT_EQ(event["args"]["source"], "model.py:1");
    EXPECT_EQ(event["args"]["work"], "tg0.forward");
    EXPECT_EQ(event["args"]["bytes"], 8);
    EXPECT_EQ(event["args"]["flops"], 1);
    EXPECT_EQ(event["tid"], 0);
  }
  EXPECT_EQ(launches, 4);
}

TEST(Trace, NamesRanksAndLanes) {
  Session session(makePlan(), "cpu:2");
  std::vector<std::string> names;
  for (const json &event : eventsOf(session, "M"))
    names.push_back(event["args"]["name"]);
  EXPECT_THAT(names, testing::ElementsAre("cpu:0", "compute", "communicate data", "cpu:1", "compute",
                                          "communicate data"));
}

TEST(Trace, ANewRecordingForgetsTheOld) {
  Session session(makePlan(), "cpu:2");
  for (int repeat = 0; repeat < 2; ++repeat) {
    session.trace(true);
    session.call({}, {}, "step");
    EXPECT_EQ(eventsOf(session, "X").size(), 6u);
  }
}

} // namespace
} // namespace epl::runtime::test
