// Plans of several meshes: what makes one, and the message that each broken rule gets.

#include "runtime/plan/model/Parts.h"

#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Blocks.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/model/Summary.h"
#include "runtime/plan/verify/ReadVerified.h"
#include "runtime/plan/verify/Verifier.h"
#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace epl::runtime::test {
namespace {

using plan::PlanT;
using testing::ElementsAre;
using testing::HasSubstr;

PlanT &part(PlanT &plan, size_t index) { return *plan.parts[index]->plan; }
plan::CommandT &named(PlanT &part, const std::string &name) {
  return **std::ranges::find(part.commands, name, [](const auto &command) { return command->name; });
}
plan::SendT &sendOf(PlanT &plan, size_t index, const std::string &name) {
  return *named(part(plan, index), name).action.AsSend();
}
plan::ReceiveT &receiveOf(PlanT &plan, size_t index, const std::string &name) {
  return *named(part(plan, index), name).action.AsReceive();
}

TEST(Parts, SurviveAFile) {
  PlanT plan = sideBySidePlan();
  EXPECT_THAT(verifyPlan(plan), testing::IsEmpty());
  EXPECT_EQ(dumpPlan(parsePlan(serializePlan(plan), "p")), dumpPlan(plan));
  EXPECT_THAT(dumpPlan(plan), HasSubstr("part 1 from device 1 strides [3, 1] slots [1, 2, 5, 3]"));
  EXPECT_THAT(dumpPlan(plan), HasSubstr("receive b3 from channel 0 64xi8 sharding [{\"data\"}]"));
}

TEST(Parts, HaveTheirDevices) {
  PlanT plan = sideBySidePlan();
  EXPECT_THAT(placesOf(*plan.parts[0]), ElementsAre(0, 3));
  EXPECT_THAT(placesOf(*plan.parts[1]), ElementsAre(1, 2, 4, 5));
}

TEST(Parts, TakeADeviceOfEachNodeInTurn) {
  PlanT plan = sideBySidePlan();
  plan.nodes = 2; // devices 0 to 2, 3 to 5
  EXPECT_THAT(verifyPlan(plan), testing::IsEmpty());
  std::vector<uint32_t> devices;
  for (uint32_t place = 0; place < plan.devices; ++place)
    devices.push_back(deviceAt(plan, place));
  EXPECT_THAT(devices, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(layoutLine(plan), "cpu:2x3 = [data 2] + [data 2, model 2]");
  EXPECT_EQ(parsePlan(serializePlan(plan), "p").nodes, 2u);
}

TEST(Parts, AreSummarizedTogether) {
  PlanT plan = sideBySidePlan();
  Summary summary = summarize(plan);
  EXPECT_EQ(summary.layout, "cpu:6 = [data 2] + [data 2, model 2]");
  EXPECT_EQ(summary.devices, 6u);
  EXPECT_EQ(summary.kernels, 8u);
  EXPECT_EQ(summary.launches, 8u);
  EXPECT_EQ(summary.collectives, 4u);
  EXPECT_EQ(summary.transfers, 2u);
  EXPECT_EQ(summary.stateBytes, 64u); // of part 0; part 1 splits its 96
}

struct Case {
  const char *name;
  void (*breakIt)(PlanT &);
  std::string message;
};

std::ostream &operator<<(std::ostream &out, const Case &each) { return out << each.name; }

class PartsRule : public testing::TestWithParam<Case> {};

TEST_P(PartsRule, RejectsAPlanThatBreaksIt) {
  PlanT plan = sideBySidePlan();
  GetParam().breakIt(plan);
  EXPECT_THAT(verifyPlan(plan), testing::Contains(HasSubstr(GetParam().message)));
}

const Case cases[] = {
    {"OnePart", [](PlanT &p) { p.parts.pop_back(); }, "plan has 1 part, expected none, or two and more"},
    {"PartsOfParts", [](PlanT &p) { part(p, 0).parts.push_back(std::move(p.parts[1])), p.parts.pop_back(); },
     "part 0 has parts, expected none"},
    {"OwnCommands", [](PlanT &p) { p.arena_size = 64; }, "plan has parts, and axes, communicators"},
    {"OwnImage", [](PlanT &p) { part(p, 1).images.push_back(std::make_unique<plan::ImageT>()); },
     "part 1 has images of its own"},
    {"Kind", [](PlanT &p) { part(p, 1).device_kind = "cuda"; },
     "part 1 is for devices of kind \"cuda\", expected \"cpu\""},
    {"BrokenPart", [](PlanT &p) { part(p, 1).commands[1]->lane = 9; }, "part 1: "},
    {"DeviceCount", [](PlanT &p) { p.devices = 5; }, "devices is 5, expected those of all parts, 6"},
    {"Strides", [](PlanT &p) { p.parts[0]->strides.clear(); },
     "part 0 has 0 strides, expected one for each of 1 axes"},
    {"Nodes", [](PlanT &p) { p.nodes = 4; }, "plan has 6 devices on 4 nodes, expected as many on each"},
    {"NoNodes", [](PlanT &p) { p.nodes = 0; }, "plan has 6 devices on 0 nodes, expected as many on each"},
    {"NodesOfAPart", [](PlanT &p) { part(p, 0).nodes = 2; }, "part 0 is for 2 nodes, expected this"},
    {"BeyondTheDevices", [](PlanT &p) { p.parts[0]->strides = {UINT32_MAX}; },
     "part 0 reaches device 4294967295 of 6"},
    {"DeviceTwice", [](PlanT &p) { p.parts[0]->strides = {1}; }, "part 1 has device 1, as part 0 does"},
    {"SlotCount", [](PlanT &p) { p.parts[0]->slots.pop_back(); }, "part 0 says what 2 slots are, expected 3"},
    {"SlotRange", [](PlanT &p) { p.parts[0]->slots[0] = 6; }, "of part 0 is slot 6 of 6 of the plan"},
    {"SlotTwice", [](PlanT &p) { p.parts[0]->slots[2] = 0; }, "as another slot of the part is"},
    {"OtherSlot", [](PlanT &p) { p.parts[0]->slots[0] = 1; },
     "slot s0 \"w\" of part 0 has another name, role, type or shape than slot s1 \"v\" of the plan"},
    {"Updates", [](PlanT &p) { p.slots[4]->updates = -1; }, "updates slot 0 of the plan, expected -1"},
    {"NobodysSlot",
     [](PlanT &p) {
       p.slots.push_back(std::make_unique<plan::SlotT>(*p.slots[3]));
       p.slots.back()->name = "more";
     },
     "slot s6 \"more\" is in 0 parts, expected one"},
    {"ChannelTwice", [](PlanT &p) { sendOf(p, 1, "send 1").channel = 0; },
     "\"send 1\" of part 1 is on channel 0, as command"},
    {"ChannelGap",
     [](PlanT &p) { sendOf(p, 1, "send 1").channel = receiveOf(p, 0, "receive 1").channel = 2; },
     "there is a channel 2 but no channel 1"},
    {"NoReceiver", [](PlanT &p) { receiveOf(p, 1, "receive 0").channel = 2; },
     "\"send 0\" of part 0 is on channel 0, which nothing receives"},
    {"OtherShape", [](PlanT &p) { receiveOf(p, 1, "receive 0").type = plan::ElementType::i1; },
     "receives a tensor of another type or shape than"},
    {"OwnChannel",
     [](PlanT &p) {
       receiveOf(p, 0, "receive 1").channel = 0;
       receiveOf(p, 1, "receive 0").channel = 1;
     },
     "receives what its own part sends"},
    {"MessageGap",
     [](PlanT &p) { sendOf(p, 1, "send 1").message = receiveOf(p, 0, "receive 1").message = 1; },
     "channel 1 has a message 1 but no message 0"},
    {"MessageWithoutReceiver", [](PlanT &p) { receiveOf(p, 1, "receive 0").message = 1; },
     "\"send 0\" of part 0 is on channel 0, which nothing receives"},
    {"DepthOfOneEnd", [](PlanT &p) { sendOf(p, 1, "send 1").depth = 2; },
     "\"send 1\" of part 1 sends by channel 1 of depth 2, command"},
    {"NoDepth", [](PlanT &p) { sendOf(p, 1, "send 1").depth = receiveOf(p, 0, "receive 1").depth = 0; },
     "receives by one of depth 0, expected the same, 1 at least"},
    {"TransferSize", [](PlanT &p) { sendOf(p, 0, "send 0").shape = {32}; },
     "part 0: command #1 \"send 0\" moves 16 bytes of buffer"},
    {"TransferSharding", [](PlanT &p) { sendOf(p, 0, "send 0").sharding[0]->axes = {"model"}; },
     "splits dimension 0 by axis \"model\", expected an axis of the mesh that splits nothing else"},
    {"TransferLane", [](PlanT &p) { part(p, 0).lanes[1]->kind = plan::LaneKind::copy_in; },
     "\"send 0\" is in lane 1, expected a lane of kind copy_out"},
    {"TransferGuard", [](PlanT &p) { named(part(p, 0), "send 0").guards = {{0, true}}; },
     "\"send 0\" of channel 0 has a guard, expected none"}};

std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Rules, PartsRule, testing::ValuesIn(cases), nameOf);

TEST(Parts, ChannelsNeedParts) {
  PlanT whole = sideBySidePlan();
  PlanT alone = std::move(*whole.parts[0]->plan);
  EXPECT_THAT(verifyPart(alone), testing::IsEmpty());
  EXPECT_THAT(verifyPlan(alone),
              ElementsAre("command #1 \"send 0\" is on a channel, but the plan has no parts",
                          "command #2 \"receive 1\" is on a channel, but the plan has no parts"));
}

/// Each part receives before it sends: the lanes are in order, and no rank ever sends.
TEST(Parts, WaitForEachOtherIsADeadlock) {
  auto make = [](uint32_t receives, uint32_t sends) {
    PlanMaker maker;
    uint32_t result = maker.slot("r" + std::to_string(sends), plan::SlotRole::result, 16);
    uint32_t in = maker.buffer("in", 16), out = maker.buffer("out", 16);
    maker.take(receives, in, 16, {});
    maker.run("next", {in}, {out});
    maker.put(sends, out, 16, {});
    maker.setResult(result, out);
    return maker.finish();
  };
  PlanT plan;
  plan.device_kind = "cpu";
  plan.version = planVersion;
  plan.devices = 2;
  for (uint32_t index : {0, 1}) {
    auto joined = std::make_unique<plan::PartT>();
    joined->plan = std::make_unique<PlanT>(make(index, 1 - index));
    joined->first = index;
    joined->slots = {index};
    plan.slots.push_back(std::make_unique<plan::SlotT>(*joined->plan->slots[0]));
    plan.slots.back()->origins.clear();
    plan.parts.push_back(std::move(joined));
  }
  EXPECT_THAT(verifyPlan(plan), testing::Contains(HasSubstr("waits for what waits for it")));
}

/// All ways in which the axes of a mesh can split two dimensions.
std::vector<PlanMaker::Axes> allShardings(const std::vector<std::string> &axes) {
  std::vector<PlanMaker::Axes> shardings = {{{}, {}}};
  for (const std::string &axis : axes)
    for (size_t i = 0, count = shardings.size(); i < count; ++i)
      for (size_t dim : {0, 1}) {
        shardings.push_back(shardings[i]);
        shardings.back()[dim].push_back(axis);
      }
  return shardings;
}

/// A part with axes of these sizes and nothing else.
PlanT meshOf(const std::vector<uint32_t> &sizes) {
  PlanT plan;
  plan.devices = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    plan.axes.push_back(std::make_unique<plan::AxisT>());
    plan.axes.back()->name = std::string(1, char('a' + i));
    plan.axes.back()->size = sizes[i];
    plan.devices *= sizes[i];
  }
  return plan;
}

template <typename ActionT> ActionT transferOf(const PlanMaker::Axes &axes) {
  ActionT action;
  action.type = plan::ElementType::i8;
  action.shape = {12, 6};
  for (const auto &dim : axes) {
    action.sharding.push_back(std::make_unique<plan::DimShardingT>());
    action.sharding.back()->axes = dim;
  }
  return action;
}

/// The elements of the tensor in the order in which a rank holds them.
std::vector<int64_t> elementsAt(const PlanT &plan, const PlanMaker::Axes &axes, uint32_t rank) {
  std::vector<int64_t> coordinates = Mesh(plan).coordinates(rank);
  int64_t begin[2] = {0, 0}, extent[2] = {12, 6};
  for (size_t dim : {0, 1})
    for (const std::string &axis : axes[dim]) {
      size_t index = size_t(axis[0] - 'a');
      extent[dim] /= plan.axes[index]->size;
      begin[dim] += coordinates[index] * extent[dim];
    }
  std::vector<int64_t> elements;
  for (int64_t row = 0; row < extent[0]; ++row)
    for (int64_t column = 0; column < extent[1]; ++column)
      elements.push_back((begin[0] + row) * 6 + begin[1] + column);
  return elements;
}

/// From any sharding on one mesh to any on another: every rank gets the elements that it needs, once each.
TEST(Parts, FetchTheElementsThatTheyNeed) {
  const std::vector<std::vector<uint32_t>> meshes = {{}, {2}, {3}, {2, 3}, {2, 2}, {3, 2}};
  int count = 0;
  for (const auto &fromSizes : meshes)
    for (const auto &toSizes : meshes) {
      PlanT from = meshOf(fromSizes), to = meshOf(toSizes);
      std::vector<std::string> names = {"a", "b"};
      auto namesOf = [&](size_t n) { return std::vector(names.begin(), names.begin() + int64_t(n)); };
      for (const auto &sent : allShardings(namesOf(fromSizes.size())))
        for (const auto &received : allShardings(namesOf(toSizes.size()))) {
          auto send = transferOf<plan::SendT>(sent);
          auto receive = transferOf<plan::ReceiveT>(received);
          if (partShape(from, send.shape, send.sharding)[1] * partCount(from, *send.sharding[1]) != 6 ||
              partShape(to, receive.shape, receive.sharding)[1] * partCount(to, *receive.sharding[1]) != 6)
            continue; // does not divide
          auto fetches = fetchesOf(from, send, to, receive);
          ASSERT_EQ(fetches.size(), to.devices);
          for (uint32_t rank = 0; rank < to.devices; ++rank) {
            std::vector<int64_t> expected = elementsAt(to, received, rank), found(expected.size(), -1);
            for (const Piece &piece : fetches[rank]) {
              std::vector<int64_t> held = elementsAt(from, sent, piece.holder);
              piece.box.forEachRun([&](int64_t source, int64_t target) {
                for (int64_t i = 0; i < piece.box.run; ++i) {
                  EXPECT_EQ(found[size_t(target + i)], -1) << "fetched twice";
                  found[size_t(target + i)] = held[size_t(source + i)];
                }
              });
            }
            EXPECT_EQ(found, expected);
            ++count;
          }
        }
    }
  EXPECT_GT(count, 3000);
}

/// Who holds copies serves as many receivers as the others.
TEST(Parts, HoldersOfCopiesTakeTurns) {
  PlanT from = meshOf({3}), to = meshOf({6});
  auto fetches = fetchesOf(from, transferOf<plan::SendT>({{}, {}}), to, transferOf<plan::ReceiveT>({{}, {}}));
  std::map<uint32_t, int> served;
  for (const auto &pieces : fetches)
    for (const Piece &piece : pieces)
      ++served[piece.holder];
  EXPECT_THAT(served, ElementsAre(testing::Pair(0, 2), testing::Pair(1, 2), testing::Pair(2, 2)));
}

} // namespace
} // namespace epl::runtime::test
