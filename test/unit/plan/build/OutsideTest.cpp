// Where pulls and pushes stand in a plan, and what waits for them.

#include "runtime/plan/model/Outside.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

using plan::SlotRole;
using testing::ElementsAre;

std::vector<std::string> namesOf(const plan::PlanT &plan, const std::vector<uint32_t> &commands) {
  std::vector<std::string> names;
  for (uint32_t command : commands)
    names.push_back(plan.commands[command]->name);
  return names;
}

std::vector<std::string> namesOf(const plan::PlanT &plan) {
  std::vector<std::string> names;
  for (const auto &command : plan.commands)
    names.push_back(command->name);
  return names;
}

std::vector<std::string> namesInLane(const plan::PlanT &plan, plan::LaneKind kind) {
  std::vector<std::string> names;
  for (const auto &lane : plan.lanes)
    if (lane->kind == kind)
      for (const std::string &name : namesOf(plan, lane->commands))
        names.push_back(name);
  return names;
}

std::vector<std::string> waitsOf(const plan::PlanT &plan, const std::string &name) {
  std::vector<uint32_t> waits;
  for (const auto &command : plan.commands)
    if (command->name == name)
      for (const plan::Wait &wait : command->waits)
        waits.push_back(wait.command());
  return namesOf(plan, waits);
}

TEST(Outside, IsPulledInTheOrderOfUseAndPushedBehindItsWriter) {
  plan::PlanT plan = outsidePlan();
  EXPECT_THAT(namesOf(plan), ElementsAre("pulled b", "pulled w", "shift", "scale", "sum", "sum", "of b",
                                         "loss", "descend", "of w"));
  EXPECT_THAT(namesInLane(plan, plan::LaneKind::pull), ElementsAre("pulled b", "pulled w"));
  EXPECT_THAT(namesInLane(plan, plan::LaneKind::push), ElementsAre("of b", "of w"));
  EXPECT_THAT(waitsOf(plan, "shift"), ElementsAre("pulled b"));
  EXPECT_THAT(waitsOf(plan, "scale"), ElementsAre("pulled w"));
  EXPECT_THAT(waitsOf(plan, "pulled w"), ElementsAre());
  EXPECT_THAT(waitsOf(plan, "of w"), ElementsAre("descend"));
  EXPECT_THAT(pulledSlotsOf(plan), ElementsAre(1, 0));
  EXPECT_EQ(plan.commands[0]->work, "tg0.forward") << "people find it where it is used";
}

TEST(Outside, ComesOneByOneWhereCommandsDo) {
  PlanMaker maker;
  maker.setSequential(true);
  uint32_t w = maker.argument("w", SlotRole::pulled, 8), made = maker.buffer("made", 8),
           more = maker.buffer("more", 8);
  maker.setResult(maker.slot("y", SlotRole::result, 8), more);
  maker.setResult(maker.slot("g", SlotRole::pushed, 8), made);
  maker.run("first", {w}, {made});
  maker.run("second", {made}, {more});
  plan::PlanT plan = maker.finish();
  EXPECT_THAT(namesOf(plan), ElementsAre("pulled w", "first", "g", "second"));
  EXPECT_THAT(waitsOf(plan, "first"), ElementsAre("pulled w"));
  EXPECT_THAT(waitsOf(plan, "second"), ElementsAre("g"));
}

// An argument that nothing reads still comes, as whoever is outside counts on it; one that is a result is
// copied, and so is one value that is two.
TEST(Outside, IsThereForWhatComputesNothing) {
  PlanMaker maker;
  uint32_t w = maker.argument("w", SlotRole::pulled, 8);
  maker.argument("unread", SlotRole::pulled, 8);
  uint32_t same = maker.slot("same", SlotRole::result, 8), first = maker.slot("first", SlotRole::pushed, 8),
           second = maker.slot("second", SlotRole::pushed, 8);
  uint32_t made = maker.buffer("made", 8);
  maker.run("make", {w}, {made});
  maker.setResult(same, w);
  maker.setResult(first, made);
  maker.setResult(second, made);
  plan::PlanT plan = maker.finish();
  EXPECT_THAT(namesInLane(plan, plan::LaneKind::pull), ElementsAre("pulled w", "pulled unread"));
  EXPECT_THAT(namesOf(plan), ElementsAre("pulled w", "pulled unread", "copy same", "make", "first",
                                         "copy second", "second"));
}

} // namespace
} // namespace epl::runtime::test
