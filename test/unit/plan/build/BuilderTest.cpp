#include "runtime/plan/build/Builder.h"

#include "test/unit/plan/Plans.h"
#include "test/unit/plan/Simulator.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/plan/model/Summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

using plan::SlotRole;
using testing::HasSubstr;

/// A command's waits as the dump shows them: "#0 of c0, #3".
std::string waitsOf(const plan::PlanT &plan, const std::string &name, size_t nth = 0) {
  std::string text;
  for (const auto &command : plan.commands)
    if (command->name == name && nth-- == 0)
      for (const plan::Wait &wait : command->waits)
        text += (text.empty() ? "#" : ", #") + std::to_string(wait.command()) +
                (wait.scope() == plan::WaitScope::self ? "" : " of c" + std::to_string(wait.communicator()));
  return text;
}

std::vector<std::string> commandNames(const plan::PlanT &plan) {
  std::vector<std::string> names;
  for (const auto &command : plan.commands)
    names.push_back(command->name);
  return names;
}

const plan::BufferT &bufferNamed(const plan::PlanT &plan, const std::string &name) {
  for (const auto &buffer : plan.buffers)
    if (buffer->name == name)
      return *buffer;
  throw std::out_of_range(name);
}

bool has(const plan::PlanT &plan, const std::string &buffer) {
  return std::ranges::any_of(plan.buffers, [&](const auto &each) { return each->name == buffer; });
}

// Edges.

TEST(Edges, AReductionWaitsForTheProducersOfAllMembers) {
  plan::PlanT plan = trainingPlan(2);
  // 0 layer1, 1 layer2, 2 loss, 3 and 4 sum loss, 5 grad2, 6 and 7 sum g2, 8 back2, 9 grad1, 10 and 11 sum
  // g1.
  EXPECT_EQ(waitsOf(plan, "sum loss", 0), "#2 of c0");
  EXPECT_EQ(waitsOf(plan, "sum g2", 0), "#5 of c0");
  EXPECT_EQ(waitsOf(plan, "sum g1", 0), "#9 of c0");
}

TEST(Edges, GatheringWaitsForTheReductionOfAllMembers) {
  plan::PlanT plan = trainingPlan(2);
  EXPECT_EQ(waitsOf(plan, "sum g2", 1), "#6 of c0");
}

TEST(Edges, AConsumerWaitsForItsOwnRankOnly) {
  plan::PlanT plan = trainingPlan(2);
  EXPECT_EQ(waitsOf(plan, "update2"), "#7");
}

TEST(Edges, WhatTheLaneOrdersHasNoWait) {
  plan::PlanT plan = trainingPlan(2);
  EXPECT_EQ(waitsOf(plan, "layer2"), "");
  EXPECT_EQ(waitsOf(plan, "grad2"), "");
  plan = trainingPlan(1);
  for (const auto &command : plan.commands)
    EXPECT_TRUE(command->waits.empty()) << command->name;
}

/// The owner may not overwrite what other members may still be reading.
TEST(Edges, AnOverwriteWaitsForTheReadersOnAllMembers) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", SlotRole::batch, 64);
  uint32_t r = maker.slot("r", SlotRole::result, 128), s = maker.slot("s", SlotRole::result, 64);
  uint32_t block = maker.buffer("block", 64), whole = maker.buffer("whole", 128);
  maker.run("first", {x}, {block});
  maker.gather("gather", data, block, whole, 1);
  maker.run("second", {x}, {block});
  maker.setResult(r, whole);
  maker.setResult(s, block);
  EXPECT_EQ(waitsOf(maker.finish(), "second"), "#1 of c0");
}

TEST(Edges, AWiderWaitImpliesTheNarrowerOne) {
  PlanMaker maker;
  maker.axis("a", 2);
  maker.axis("b", 2);
  uint32_t a = maker.addCommunicator({"a"}), both = maker.addCommunicator({"a", "b"});
  uint32_t x = maker.argument("x", SlotRole::batch, 64), y = maker.argument("y", SlotRole::batch, 64);
  uint32_t r = maker.slot("r", SlotRole::result, 128), s = maker.slot("s", SlotRole::result, 256);
  uint32_t block = maker.buffer("block", 64), byA = maker.buffer("byA", 128),
           byBoth = maker.buffer("byBoth", 256);
  maker.run("produce", {x, y}, {block});
  maker.gather("gather both", both, block, byBoth, 1);
  maker.gather("gather a", a, block, byA, 1);
  maker.run("overwrite", {x}, {block});
  maker.setResult(r, byA);
  maker.setResult(s, byBoth);
  plan::PlanT plan = maker.finish();
  EXPECT_EQ(waitsOf(plan, "gather a"), "#0 of c0");
  EXPECT_EQ(waitsOf(plan, "overwrite"), "#1 of c1, #2 of c0");
}

// Memory.

TEST(Memory, BuffersWhoseLivesAreOrderedShareBytes) {
  PlanMaker maker;
  uint32_t x = maker.argument("x", SlotRole::batch, 1000), r = maker.slot("r", SlotRole::result, 1000);
  uint32_t last = x;
  for (int i = 0; i < 20; ++i) {
    uint32_t next = maker.buffer("t" + std::to_string(i), 1000);
    maker.run("k" + std::to_string(i), {last}, {next});
    last = next;
  }
  maker.setResult(r, last);
  EXPECT_EQ(maker.finish().arena_size, 2048u);
}

TEST(Memory, AnOutputTakesThePlaceOfADyingInput) {
  PlanMaker maker;
  uint32_t x = maker.argument("x", SlotRole::batch, 1000), r = maker.slot("r", SlotRole::result, 8);
  uint32_t a = maker.buffer("a", 1000), b = maker.buffer("b", 1000), c = maker.buffer("c", 1000);
  uint32_t out = maker.buffer("out", 8);
  maker.run("make", {x}, {a});
  maker.run("over", {a}, {b}, {0});
  maker.run("again", {b}, {c}, {0});
  maker.run("end", {c}, {out});
  maker.setResult(r, out);
  EXPECT_EQ(maker.finish().arena_size, 1024u);
}

TEST(Memory, AnInputThatIsReadLaterKeepsItsPlace) {
  PlanMaker maker;
  uint32_t x = maker.argument("x", SlotRole::batch, 1000), r = maker.slot("r", SlotRole::result, 8);
  uint32_t a = maker.buffer("a", 1000), b = maker.buffer("b", 1000), out = maker.buffer("out", 8);
  maker.run("make", {x}, {a});
  maker.run("over", {a}, {b}, {0});
  maker.run("end", {a, b}, {out});
  maker.setResult(r, out);
  EXPECT_EQ(maker.finish().arena_size, 2048u);
}

/// The arena of a plan that sums a buffer of 1024 bytes, which it reads again afterwards or does not.
uint64_t arenaOfSum(bool readAgain) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", SlotRole::batch, 1024), r = maker.slot("r", SlotRole::result, 8);
  uint32_t a = maker.buffer("a", 1024), b = maker.buffer("b", 1024), out = maker.buffer("out", 8);
  maker.run("make", {x}, {a});
  maker.sum("sum", data, a, b);
  maker.run("end", readAgain ? std::vector{a, b} : std::vector{b}, {out});
  maker.setResult(r, out);
  return maker.finish().arena_size;
}

TEST(Memory, ASumTakesThePlaceOfADyingSummand) {
  EXPECT_EQ(arenaOfSum(false), 1024u);
  EXPECT_EQ(arenaOfSum(true), 2048u);
}

/// Other members may still gather from "block" when this rank is done with it: nothing orders that.
TEST(Memory, WhatOtherRanksMayStillReadIsNotReused) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t data = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", SlotRole::batch, 640);
  uint32_t r = maker.slot("r", SlotRole::result, 1280), s = maker.slot("s", SlotRole::result, 64);
  uint32_t block = maker.buffer("block", 640), whole = maker.buffer("whole", 1280);
  uint32_t used = maker.buffer("used", 640), out = maker.buffer("out", 64);
  maker.run("make", {x}, {block});
  maker.gather("gather", data, block, whole, 1);
  maker.run("use", {whole}, {used});
  maker.run("end", {used}, {out});
  maker.setResult(r, whole);
  maker.setResult(s, out);
  plan::PlanT plan = maker.finish();
  EXPECT_NE(bufferNamed(plan, "block").offset, bufferNamed(plan, "used").offset);
  EXPECT_EQ(plan.arena_size, 1280u);
}

/// Two gradients, each from an activation and from what comes back, which makes the next of it: placed in the
/// order of the commands, the equal ones leave a hole of two units.
TEST(Memory, TheBestOfSeveralOrdersIsTaken) {
  constexpr uint64_t unit = 1024;
  PlanMaker maker;
  uint32_t x = maker.argument("x", SlotRole::batch, unit), r = maker.slot("r", SlotRole::result, 64);
  uint32_t activation = maker.buffer("activation", 4 * unit), back = maker.buffer("back", 4 * unit);
  uint32_t large = maker.buffer("large", 16 * unit), further = maker.buffer("further", 4 * unit);
  uint32_t middle = maker.buffer("middle", 6 * unit), out = maker.buffer("out", 64);
  maker.run("forward", {x}, {activation});
  maker.run("begin", {x}, {back});
  maker.run("gradient of large", {activation, back}, {large});
  maker.run("go on", {back}, {further});
  maker.run("gradient of middle", {x, further}, {middle});
  maker.run("end", {large, middle, further}, {out});
  maker.setResult(r, out);
  EXPECT_EQ(maker.finish().arena_size, 26 * unit);
}

TEST(Memory, RandomPlansReuse) {
  size_t smaller = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    plan::PlanT plan = randomPlan(seed);
    smaller += plan.arena_size < withoutReuse(plan).arena_size;
  }
  EXPECT_GT(smaller, 80u);
}

// Results.

TEST(Results, AnUpdateInPlaceHasNoBufferAndNoCopy) {
  plan::PlanT plan = trainingPlan(2);
  EXPECT_FALSE(has(plan, "next1"));
  EXPECT_FALSE(has(plan, "next2"));
  EXPECT_EQ(summarize(plan).launches, commandNames(plan).size() - 6);
}

TEST(Results, AnUpdateBeforeTheLastReadOfTheStateIsCopied) {
  PlanMaker maker;
  uint32_t w = maker.argument("w", SlotRole::state, 64);
  uint32_t wNew = maker.slot("w", SlotRole::result, 64, {}, 0), r = maker.slot("r", SlotRole::result, 64);
  uint32_t next = maker.buffer("next", 64), out = maker.buffer("out", 64);
  maker.run("update", {w}, {next}, {0});
  maker.run("old", {w}, {out});
  maker.setResult(wNew, next);
  maker.setResult(r, out);
  plan::PlanT plan = maker.finish();
  EXPECT_THAT(commandNames(plan), testing::ElementsAre("update", "old", "copy w"));
}

TEST(Results, AnUpdateThatMayNotWorkInPlaceIsCopied) {
  PlanMaker maker;
  uint32_t w = maker.argument("w", SlotRole::state, 64);
  uint32_t wNew = maker.slot("w", SlotRole::result, 64, {}, 0);
  uint32_t next = maker.buffer("next", 64);
  maker.run("update", {w}, {next});
  maker.setResult(wNew, next);
  EXPECT_THAT(commandNames(maker.finish()), testing::ElementsAre("update", "copy w"));
}

/// What waits for a sum is in the place of the result that it is scaled to, if nothing else reads it then.
TEST(Results, WhatAResultIsWrittenOverIsInItsPlace) {
  for (bool isReadLater : {false, true}) {
    PlanMaker maker;
    uint32_t x = maker.argument("x", SlotRole::constant, 64);
    uint32_t scaled = maker.slot("scaled", SlotRole::result, 64), r = maker.slot("r", SlotRole::result, 64);
    uint32_t drawn = maker.buffer("drawn", 64), sum = maker.buffer("sum", 64);
    uint32_t out = maker.buffer("out", 64), late = maker.buffer("late", 64);
    maker.run("draw", {x}, {drawn});
    maker.run("add", {drawn}, {sum});
    maker.run("scale", {drawn, sum}, {out}, {0});
    maker.run("last", {isReadLater ? drawn : sum}, {late});
    maker.setResult(scaled, out);
    maker.setResult(r, late);
    plan::PlanT plan = maker.finish();
    EXPECT_EQ(has(plan, "drawn"), isReadLater);
    EXPECT_THAT(commandNames(plan), testing::ElementsAre("draw", "add", "scale", "last"));
  }
}

/// Where a branch is skipped, a kernel that selects reads what it left: in the memory of a result that is
/// nothing.
TEST(Results, WhatABranchWritesIsNotInTheirPlace) {
  for (bool isState : {false, true}) {
    PlanMaker maker;
    uint32_t w = maker.argument("w", SlotRole::state, 64), p = maker.argument("p", SlotRole::constant, 1);
    uint32_t selected = maker.slot("selected", SlotRole::result, 64, {}, isState ? 0 : -1);
    uint32_t one = maker.buffer("one", 64), other = maker.buffer("other", 64), out = maker.buffer("out", 64);
    maker.run("always", {w}, {other});
    maker.setGuards({{p, true}});
    maker.run("branch", {other}, {one});
    maker.setGuards({});
    maker.run("select", {p, one, other}, {out}, {1});
    maker.setResult(selected, out);
    plan::PlanT plan = maker.finish();
    EXPECT_EQ(has(plan, "one"), !isState);
    EXPECT_THAT(commandNames(plan), testing::ElementsAre("always", "branch", "select"));
  }
}

/// A value that is a result itself, or a part of it is, is read by the copy at the end.
TEST(Results, WhatIsAResultItselfIsNotWrittenOver) {
  for (bool isPart : {false, true}) {
    PlanMaker maker;
    uint32_t x = maker.argument("x", SlotRole::constant, 64);
    uint32_t later = maker.slot("later", SlotRole::result, 64),
             earlier = maker.slot("earlier", SlotRole::result, isPart ? 32 : 64);
    uint32_t start = maker.buffer("start", 64), next = maker.buffer("next", 64);
    maker.run("begin", {x}, {start});
    maker.run("iterate", {start}, {next}, {0});
    maker.setResult(later, next);
    maker.setResult(earlier, isPart ? maker.view("part", start, 0, 32) : start);
    plan::PlanT plan = maker.finish();
    EXPECT_EQ(has(plan, "start"), isPart);
    const plan::LaunchT &iterate = *plan.commands[1]->action.AsLaunch();
    EXPECT_NE(iterate.buffers[0], iterate.buffers[1]);
  }
}

/// States exchanged, an argument as a result, one value twice: each rank ends with the right bytes.
TEST(Results, ArgumentsAndRepeatedValuesAreCopied) {
  plan::PlanT plan = copyPlan();
  std::vector<uint64_t> outcome = runInProgramOrder(plan);
  auto valuesOf = [&](const std::string &name, bool result) {
    size_t at = 0;
    for (const auto &buffer : plan.buffers) {
      if (buffer->slot < 0)
        continue;
      bool isResult = plan.slots[size_t(buffer->slot)]->role == SlotRole::result;
      if (buffer->name == name && isResult == result)
        return std::vector<uint64_t>(outcome.begin() + int64_t(at),
                                     outcome.begin() + int64_t(at + buffer->size));
      at += buffer->size;
    }
    throw std::out_of_range(name);
  };
  // The simulator's arguments are functions of the buffer's index, so an untouched plan tells them.
  plan::PlanT idle = plan;
  idle.commands.clear();
  std::vector<uint64_t> before = runInProgramOrder(idle);
  std::swap(outcome, before);
  std::vector<uint64_t> a = valuesOf("a", false), b = valuesOf("b", false), x = valuesOf("x", false);
  std::swap(outcome, before);
  EXPECT_EQ(valuesOf("a", false), b);
  EXPECT_EQ(valuesOf("b", false), a);
  EXPECT_EQ(valuesOf("x", true), x);
  EXPECT_EQ(valuesOf("first", true), valuesOf("second", true));
}

// The builder.

TEST(Builder, CollectivesOfOneMemberAreCopies) {
  plan::PlanT plan = trainingPlan(1);
  EXPECT_EQ(summarize(plan).collectives, 0u);
  EXPECT_THAT(commandNames(plan), testing::Contains("sum g1"));
  EXPECT_THAT(commandNames(plan), testing::Not(testing::Contains("sum g2")));
}

TEST(Builder, SummaryAndLayout) {
  Summary summary = summarize(trainingPlan(4));
  EXPECT_EQ(summary.layout, "cpu:4 = data 4");
  EXPECT_EQ(summary.devices, 4u);
  EXPECT_EQ(summary.kernels, 8u);
  EXPECT_EQ(summary.launches, 8u);
  EXPECT_EQ(summary.collectives, 3u);
  EXPECT_EQ(summary.stateBytes, 320u);
  EXPECT_EQ(summarize(gatherPlan()).layout, "cpu:6 = data 2, model 3");
}

TEST(Builder, ThePlanDoesNotGrowWithTheDevices) {
  EXPECT_EQ(trainingPlan(2).commands.size(), trainingPlan(512).commands.size());
}

std::string errorOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const PlanError &error) {
    return error.what();
  }
  return "no error";
}

TEST(Builder, AResultNeedsAValueOfItsSize) {
  PlanMaker maker;
  uint32_t x = maker.argument("x", SlotRole::batch, 64);
  uint32_t r = maker.slot("r", SlotRole::result, 32);
  EXPECT_EQ(errorOf([&] { PlanMaker(maker).finish(); }), "result \"r\" has no value");
  maker.setResult(r, x);
  EXPECT_EQ(errorOf([&] { maker.finish(); }),
            "result \"r\": expected a value of 32 bytes, found buffer \"x\" of 64");
}

TEST(Builder, WrongIndicesAndEmptyAxesAreErrors) {
  PlanMaker maker;
  EXPECT_EQ(errorOf([&] { maker.axis("data", 0); }), "axis \"data\" has size 0");
  maker.argument("x", SlotRole::batch, 64);
  uint32_t r = maker.slot("r", SlotRole::result, 64);
  EXPECT_EQ(errorOf([&] { maker.setResult(0, 0); }), "slot 0 is no result of the plan");
  EXPECT_EQ(errorOf([&] { maker.setResult(r, 7); }), "result \"r\" is buffer 7, expected one of 2 buffers");
  EXPECT_EQ(errorOf([&] { maker.slotBuffer(r); }), "slot 1 is no argument of the plan");
}

TEST(Builder, AProgramThatReadsWhatNothingWritesIsAnError) {
  PlanMaker maker;
  uint32_t r = maker.slot("r", SlotRole::result, 64);
  uint32_t never = maker.buffer("never", 64), out = maker.buffer("out", 64);
  maker.run("k", {never}, {out});
  maker.setResult(r, out);
  EXPECT_THAT(errorOf([&] { maker.finish(); }),
              HasSubstr("command #0 \"k\" reads buffer b1 \"never\" before anything writes bytes 0..63"));
}

} // namespace
} // namespace epl::runtime::test
