#include "Tensors.h"

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
  ASSERT_EQ(events.size(), 2u * 2 * 3 + 2); // calls, ranks, commands; steps
  int launches = 0;
  for (const json &event : events) {
    EXPECT_GE(event["dur"], 0);
    EXPECT_THAT(event["args"]["call"], testing::AnyOf(2, 3));
    if (event["name"] != "coordinate")
      continue;
    EXPECT_EQ(event["cat"], "compute");
    EXPECT_EQ(event["args"]["command"], 0);
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

/// Chrome's trace viewer drops a file, or an event, that lacks one of these.
TEST(Trace, EveryEventIsWhole) {
  Session session(makePlan(), "cpu:2");
  session.trace(true);
  session.call({}, {}, "step");
  json trace = json::parse(session.traceJson());
  for (const json &event : trace["traceEvents"]) {
    EXPECT_TRUE(event["ph"] == "M" || event["ph"] == "X") << event;
    EXPECT_TRUE(event["name"].is_string()) << event;
    for (const char *key : {"ts", "pid", "tid"})
      EXPECT_TRUE(event[key].is_number()) << key << " of " << event;
    EXPECT_TRUE(event["ph"] == "M" || event["dur"].is_number()) << event;
  }
}

TEST(Trace, CollectivesSayWhatTheyMove) {
  Session session(makePlan(), "cpu:2");
  session.trace(true);
  session.call({}, {}, "step");
  int collectives = 0;
  for (const json &event : eventsOf(session, "X"))
    if (event["cat"] == "collective") {
      ++collectives;
      EXPECT_EQ(event["args"]["payload"], 8);
      EXPECT_TRUE(event["dur"] == 0 || event["args"]["GB/s"] > 0) << event;
    }
  EXPECT_EQ(collectives, 2 * 2);
}

TEST(Trace, StepsSpanTheirCommands) {
  Session session(makePlan(), "cpu:2");
  session.trace(true);
  session.call({}, {}, "step");
  session.call({}, {}, "step");
  auto events = eventsOf(session, "X");
  for (int call : {1, 2}) {
    auto isStep = [&](const json &event) { return event["name"] == "step " + std::to_string(call); };
    auto step = std::find_if(events.begin(), events.end(), isStep);
    ASSERT_NE(step, events.end());
    EXPECT_EQ((*step)["pid"], 2);
    for (const json &event : events)
      if (event["args"]["call"] == call) {
        EXPECT_GE(event["ts"], (*step)["ts"]);
        EXPECT_LE(double(event["ts"]) + double(event["dur"]),
                  double((*step)["ts"]) + double((*step)["dur"]) + 1);
      }
  }
}

TEST(Trace, NamesThatAreNoUtf8AreReplaced) {
  TestPlan plan(1);
  plan.launch("coordinate", 1, {plan.buffer(8)});
  plan.plan.commands[0]->name = "k\xff";
  Session session(plan.finish(), "cpu:1");
  session.trace(true);
  session.call({}, {}, "step");
  EXPECT_EQ(eventsOf(session, "X")[0]["name"], "k\xef\xbf\xbd");
}

TEST(Trace, NamesRanksAndLanes) {
  Session session(makePlan(), "cpu:2");
  std::vector<std::string> names;
  for (const json &event : eventsOf(session, "M"))
    if (event["args"].contains("name"))
      names.push_back(event["args"]["name"]);
  EXPECT_THAT(names, testing::ElementsAre("cpu:2 = data 2", "steps", "cpu:0", "compute", "communicate data",
                                          "cpu:1", "compute", "communicate data"));
}

TEST(Trace, ANewRecordingForgetsTheOld) {
  Session session(makePlan(), "cpu:2");
  for (int repeat = 0; repeat < 2; ++repeat) {
    session.trace(true);
    session.call({}, {}, "step");
    EXPECT_EQ(eventsOf(session, "X").size(), 6u + 1);
  }
}

} // namespace
} // namespace epl::runtime::test
