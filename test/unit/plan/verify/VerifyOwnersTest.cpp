// Plans in which somebody takes for a value what one rank has alone, and the messages that they get.

#include "runtime/plan/verify/Verifier.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace epl::runtime::test {
namespace {

using plan::PlanT;

plan::CommandT &commandOf(PlanT &plan, const std::string &name) {
  return *plan.commands[findCommand(plan, name)];
}

/// What a command that computes a layer reads in the place of its second input.
void setInput(PlanT &plan, const std::string &command, uint32_t buffer) {
  commandOf(plan, command).action.AsLaunch()->buffers[1] = buffer;
}

uint32_t bufferOf(const PlanT &plan, const std::string &slot) {
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    if (int32_t index = plan.buffers[buffer]->slot; index >= 0 && plan.slots[size_t(index)]->name == slot)
      return buffer;
  throw std::logic_error("no slot " + slot);
}

struct Case {
  const char *name;
  std::function<void(PlanT &)> breakIt;
  std::string message; // a part of it
};

std::ostream &operator<<(std::ostream &out, const Case &each) { return out << each.name; }

class OwnerRule : public testing::TestWithParam<Case> {};

TEST_P(OwnerRule, RejectsAPlanThatBreaksIt) {
  PlanT plan = ownersPlan(2, 2);
  ASSERT_THAT(verifyPlan(plan), testing::IsEmpty());
  GetParam().breakIt(plan);
  EXPECT_THAT(verifyPlan(plan), testing::Contains(testing::HasSubstr(GetParam().message)));
}

const Case cases[] = {
    {"OwnerOfNoCommunicator",
     [](PlanT &p) { commandOf(p, "update0").owner = std::make_unique<plan::Owner>(7, 0); },
     "\"update0\" has an owner of communicator 7 of 2"},
    {"OwnerNoMember", [](PlanT &p) { commandOf(p, "update0").owner = std::make_unique<plan::Owner>(0, 5); },
     "\"update0\" has member 5 of 2 of communicator c0 as its owner"},
    {"OwnerOfMembersThatDiffer",
     [](PlanT &p) { commandOf(p, "reduce0").owner = std::make_unique<plan::Owner>(0, 0); },
     "\"reduce0\" has an owner on axis \"data\", on which the members of its communicator differ"},
    {"RootNoMember", [](PlanT &p) { commandOf(p, "reduce0").action.AsReduceToRoot()->root = 2; },
     "\"reduce0\" has member 2 of 2 of communicator c0 as its root"},
    {"NoTensors", [](PlanT &p) { commandOf(p, "broadcast0").action.AsCopyFromRoot()->tensors.clear(); },
     "\"broadcast0\" has no tensors, expected at least one"},
    {"TooManyElements",
     [](PlanT &p) { commandOf(p, "broadcast0").action.AsCopyFromRoot()->tensors[0].count = 81; },
     "\"broadcast0\" needs 81 bytes of buffer"},
    {"NoSuchReduction",
     [](PlanT &p) { commandOf(p, "reduce0").action.AsReduceToRoot()->reduction = plan::ReductionKind::all; },
     "\"reduce0\" combines i8 by all"},
    {"OwnedBatch",
     [](PlanT &p) {
       for (auto &slot : p.slots)
         if (slot->name == "x")
           slot->owner = std::make_unique<plan::Owner>(0, 0);
     },
     "\"x\" has an owner, expected this of states and of results that update them"},
    {"OwnerOfAStateAlone", [](PlanT &p) { p.slots[1]->owner.reset(); },
     "of another type, shape, sharding or owner"},
    {"OwnerAlongASplit",
     [](PlanT &p) {
       for (auto &slot : p.slots)
         if (slot->name == "m0")
           slot->sharding[0]->axes = {"data"};
     },
     "\"m0\" has an owner on axis \"data\", which splits it"},
    {"AnotherReadsAnOwnedSlot", [](PlanT &p) { setInput(p, "backward0", bufferOf(p, "m0")); },
     "\"backward0\" reads slot s1 \"m0\" on other ranks than its owner, member 0 of communicator c0"},
    {"AnotherWritesAnOwnedSlot", [](PlanT &p) { commandOf(p, "update0").owner.reset(); },
     "on other ranks than its owner, member 0 of communicator c0"},
    {"NotBroadcast",
     [](PlanT &p) {
       commandOf(p, "broadcast0")
           .action.AsCopyFromRoot()
           ->tensors.erase(commandOf(p, "broadcast0").action.AsCopyFromRoot()->tensors.begin());
     },
     "\"w0\" of rank 2, which are the caller's slot 0, no origin of it"},
    {"BroadcastFromAnotherRoot",
     [](PlanT &p) { commandOf(p, "broadcast0").action.AsCopyFromRoot()->root = 1; },
     "alone, expected a copy from member 0 to all others of what it holds"},
    {"SumOfAnotherRoot", [](PlanT &p) { commandOf(p, "reduce1").action.AsReduceToRoot()->root = 0; },
     "\"reduce1\" writes slot s5 \"v1\" on other ranks than its owner, member 1 of communicator c0"},
};

INSTANTIATE_TEST_SUITE_P(Owners, OwnerRule, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

/// After a copy the root computes its value again: others have what was before.
TEST(Owners, AnOlderCopyIsNoValue) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 64, {"data"});
  uint32_t value = maker.buffer("value", 32), look = maker.buffer("look", 32);
  uint32_t result = maker.slot("look", plan::SlotRole::result, 32);
  maker.setOwner(plan::Owner(all, 1));
  maker.run("make", {x}, {value});
  maker.setOwner(std::nullopt);
  maker.broadcast("broadcast", all, 1, {value});
  maker.setOwner(plan::Owner(all, 1));
  maker.run("make again", {x}, {value});
  maker.setOwner(std::nullopt);
  maker.run("look", {value}, {look});
  maker.setResult(result, look);
  EXPECT_THAT(
      [&] { maker.finish(); },
      testing::ThrowsMessage<std::exception>(testing::HasSubstr(
          "\"look\" reads as its operand 0 output 0 of command #2 \"make again\", which is on member 1 of "
          "communicator c0 alone, expected a copy from member 1 to all others of what it holds")));
}

/// A new value that nobody sends is the owner's alone: others would go on with the old one.
TEST(Owners, AResultOfAllIsSentToAll) {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t w = maker.argument("w", plan::SlotRole::state, 32), next = maker.buffer("next", 32);
  uint32_t result = maker.slot("w", plan::SlotRole::result, 32, {}, 0);
  maker.setOwner(plan::Owner(all, 1));
  maker.run("update", {w}, {next}, {0});
  maker.setOwner(std::nullopt);
  maker.setResult(result, next);
  EXPECT_THAT(
      [&] { maker.finish(); },
      testing::ThrowsMessage<std::exception>(testing::HasSubstr(
          "result s1 \"w\" holds output 0 of command #0 \"update\", which is on member 1 of communicator "
          "c0 alone, expected a copy from member 1 to all others of what it holds")));
}

/// As many owners as there may be are proved; memory that more use is an error.
TEST(Owners, AreProvedOneByOne) {
  for (uint32_t members : {64u, 132u}) {
    PlanMaker maker;
    maker.axis("data", members);
    uint32_t all = maker.addCommunicator({"data"});
    uint32_t x = maker.argument("x", plan::SlotRole::batch, 64);
    std::vector<uint32_t> values;
    for (uint32_t member = 0; member < members; ++member) {
      values.push_back(maker.buffer("value", 64));
      uint32_t work = maker.buffer("work", 64);
      maker.setOwner(plan::Owner(all, member));
      maker.run("work", {x}, {work});
      maker.run("value", {work}, {values.back()});
      maker.setOwner(std::nullopt);
      maker.broadcast("broadcast", all, member, {values.back()});
    }
    uint32_t look = maker.buffer("look", 8);
    maker.run("look", values, {look});
    maker.setResult(maker.slot("look", plan::SlotRole::result, 8), look);
    if (members == 64)
      EXPECT_THAT(verifyPlan(maker.finish()), testing::IsEmpty());
    else
      EXPECT_THAT([&] { maker.finish(); },
                  testing::ThrowsMessage<std::exception>(testing::HasSubstr("in memory of too many owners")));
  }
}

} // namespace
} // namespace epl::runtime::test
