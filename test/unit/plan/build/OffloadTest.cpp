// States in memory of the host: which copies there are, when they begin, and what is left of the arena.

#include "runtime/plan/build/Builder.h"

#include "test/unit/plan/Plans.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

using plan::SlotRole;
using testing::ElementsAre;

std::vector<std::string> namesInLane(const plan::PlanT &plan, plan::LaneKind kind) {
  std::vector<std::string> names;
  for (const auto &lane : plan.lanes)
    if (lane->kind == kind)
      for (uint32_t command : lane->commands)
        names.push_back(plan.commands[command]->name);
  return names;
}

/// The commands that one waits for: the nth of its name.
std::vector<std::string> waitsOf(const plan::PlanT &plan, const std::string &name, size_t nth = 0) {
  std::vector<std::string> names;
  for (const auto &command : plan.commands)
    if (command->name == name && nth-- == 0)
      for (const plan::Wait &wait : command->waits)
        names.push_back(plan.commands[wait.command()]->name);
  return names;
}

/// Layers of a weight and a moment each: forward, backward, then all updates.
plan::PlanT layers(uint32_t count, bool offloads, int64_t size = 1024) {
  PlanMaker maker;
  maker.setOffload(offloads);
  uint32_t x = maker.argument("x", SlotRole::batch, 64);
  std::vector<uint32_t> weights, moments, gradients;
  auto name = [](const char *what, uint32_t layer) { return what + std::to_string(layer); };
  for (uint32_t layer = 0; layer < count; ++layer)
    weights.push_back(maker.argument(name("w", layer), SlotRole::state, size));
  for (uint32_t layer = 0; layer < count; ++layer)
    moments.push_back(maker.argument(name("m", layer), SlotRole::state, size));
  for (uint32_t layer = 0; layer < count; ++layer) {
    uint32_t next = maker.buffer(name("x", layer), 64);
    maker.run(name("forward", layer), {x, weights[layer]}, {next});
    x = next;
  }
  for (uint32_t layer = count; layer-- > 0;) {
    uint32_t next = maker.buffer(name("g", layer), 64);
    maker.run(name("backward", layer), {x, weights[layer]}, {next});
    gradients.push_back(x = next);
  }
  std::vector<uint32_t> values;
  for (uint32_t layer = 0; layer < count; ++layer) {
    uint32_t weight = maker.buffer("new w", uint64_t(size)), moment = maker.buffer("new m", uint64_t(size));
    maker.run(name("update", layer), {weights[layer], moments[layer], gradients[count - 1 - layer]},
              {weight, moment}, {0, 1});
    values.insert(values.begin() + layer, weight);
    values.push_back(moment);
  }
  for (uint32_t slot = 0; slot < 2 * count; ++slot)
    maker.setResult(maker.slot("new", SlotRole::result, size, {}, int32_t(1 + slot)), values[slot]);
  return maker.finish();
}

TEST(Offload, EachUseHasACopyUnlessTheOneBeforeIsNear) {
  plan::PlanT plan = layers(3, true);
  EXPECT_THAT(
      namesInLane(plan, plan::LaneKind::copy_in),
      ElementsAre("copy in w0", "copy in w1", "copy in w2", // of which the backward work reads w2 and w1
                  "copy in w0", "copy in m0", "copy in w1", "copy in m1", "copy in w2", "copy in m2"));
  EXPECT_THAT(namesInLane(plan, plan::LaneKind::copy_out),
              ElementsAre("copy out new", "copy out new", "copy out new", "copy out new", "copy out new",
                          "copy out new"));
}

TEST(Offload, CopiesRunAheadByNoMoreThanOneCommandReads) {
  plan::PlanT plan = layers(6, true);
  // Updates read two states, the most. So the forward work has its weight and up to two that are to come.
  EXPECT_THAT(waitsOf(plan, "copy in w0"), ElementsAre());
  EXPECT_THAT(waitsOf(plan, "copy in w1"), ElementsAre());
  EXPECT_THAT(waitsOf(plan, "copy in w2"), ElementsAre()); // forward0 may begin: nothing is before it
  EXPECT_THAT(waitsOf(plan, "copy in w3"), ElementsAre("forward0"));
  EXPECT_THAT(waitsOf(plan, "copy in w4"), ElementsAre("forward1"));
  EXPECT_THAT(waitsOf(plan, "copy in m5"), ElementsAre()); // behind w5, in the same lane
  EXPECT_THAT(waitsOf(plan, "copy in w5", 1), ElementsAre("copy out new", "update3"));
  EXPECT_THAT(waitsOf(plan, "update0"), ElementsAre("copy in m0"));
  EXPECT_THAT(waitsOf(plan, "copy out new"), ElementsAre("update0"));
}

TEST(Offload, TheArenaDoesNotGrowWithTheNumberOfStates) {
  uint64_t few = layers(6, true).arena_size, many = layers(24, true).arena_size;
  EXPECT_LE(many - few, 18u * 64 * 2); // activations and gradients
  EXPECT_LE(few, 7u * 1024);
  Summary summary = summarize(layers(24, true));
  EXPECT_EQ(summary.hostBytes, 48u * 1024);
  EXPECT_EQ(summary.stateBytes, 48u * 1024);
  EXPECT_EQ(summarize(layers(24, false)).hostBytes, 0u);
}

TEST(Offload, NumbersStayOnTheCard) {
  PlanMaker maker;
  maker.setOffload(true);
  plan::SlotT number;
  number.name = "count";
  number.role = SlotRole::state;
  number.type = plan::ElementType::i8;
  uint32_t slot = maker.addSlot(std::move(number)), count = maker.slotBuffer(slot);
  uint32_t w = maker.argument("w", SlotRole::state, 64);
  uint32_t r = maker.slot("r", SlotRole::result, 64);
  uint32_t value = maker.buffer("value", 64);
  uint32_t read = maker.buffer("read", 1);
  maker.copy({.name = "read", .location = "", .work = ""}, count, read);
  maker.run("scale", {w, read}, {value});
  maker.setResult(r, value);
  plan::PlanT plan = maker.finish();
  EXPECT_FALSE(plan.slots[0]->in_host);
  EXPECT_TRUE(plan.slots[1]->in_host);
  EXPECT_FALSE(plan.slots[2]->in_host);
  EXPECT_THAT(namesInLane(plan, plan::LaneKind::copy_in), ElementsAre("copy in w"));
}

/// Parts of a state are copied by themselves, states that change their places by the arena.
TEST(Offload, ViewsAndExchangedStates) {
  PlanMaker maker;
  maker.setOffload(true);
  uint32_t a = maker.argument("a", SlotRole::state, 64), b = maker.argument("b", SlotRole::state, 64);
  uint32_t row = maker.view("row", a, 1, 32);
  uint32_t newA = maker.slot("a", SlotRole::result, 64, {}, 0),
           newB = maker.slot("b", SlotRole::result, 64, {}, 1);
  uint32_t r = maker.slot("r", SlotRole::result, 32);
  uint32_t value = maker.buffer("value", 32);
  maker.run("look", {row}, {value});
  maker.setResult(newA, b);
  maker.setResult(newB, a);
  maker.setResult(r, value);
  plan::PlanT plan = maker.finish();
  EXPECT_THAT(namesInLane(plan, plan::LaneKind::copy_in), ElementsAre("copy in a", "copy in b", "copy in a"));
  EXPECT_THAT(namesInLane(plan, plan::LaneKind::copy_out), ElementsAre("copy out a", "copy out b"));
  EXPECT_EQ(plan.commands.front()->action.AsCopy()->size, 32u);
}

/// What makes the first states has room for a few of them.
TEST(Offload, ResultsAreCopiedOutOneAfterAnother) {
  auto make = [](uint32_t count) {
    PlanMaker maker;
    maker.setOffload(true, /*withResults=*/true);
    uint32_t key = maker.argument("key", SlotRole::constant, 64);
    std::vector<uint32_t> values;
    for (uint32_t i = 0; i < count; ++i)
      maker.run("draw" + std::to_string(i), {key}, {values.emplace_back(maker.buffer("w", 1024))});
    for (uint32_t value : values)
      maker.setResult(maker.slot("w", SlotRole::result, 1024), value);
    return maker.finish();
  };
  plan::PlanT plan = make(8);
  EXPECT_TRUE(plan.slots.back()->in_host);
  EXPECT_FALSE(plan.slots.front()->in_host);
  EXPECT_THAT(waitsOf(plan, "draw1"), ElementsAre());
  EXPECT_THAT(waitsOf(plan, "draw2"), ElementsAre("copy out w"));
  EXPECT_EQ(plan.arena_size, 2u * 1024);
  EXPECT_EQ(make(16).arena_size, 2u * 1024);
}

TEST(Offload, CommandsInOrderStayInOrder) {
  PlanMaker maker;
  maker.setOffload(true);
  maker.setSequential(true);
  uint32_t w = maker.argument("w", SlotRole::state, 64), r = maker.slot("w", SlotRole::result, 64, {}, 0);
  uint32_t value = maker.buffer("value", 64), again = maker.buffer("again", 64);
  maker.run("first", {w}, {value});
  maker.run("second", {w, value}, {again});
  maker.setResult(r, again);
  plan::PlanT plan = maker.finish();
  EXPECT_THAT(waitsOf(plan, "first"), ElementsAre("copy in w"));
  EXPECT_THAT(waitsOf(plan, "copy out w"), ElementsAre("second"));
}

} // namespace
} // namespace epl::runtime::test
