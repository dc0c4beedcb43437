// Plans with parts, which run side by side on devices of their own.

#include "Tensors.h"

#include "runtime/Error.h"
#include "runtime/plan/build/JoinParts.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/model/Origins.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;

std::vector<std::unique_ptr<plan::DimShardingT>> shardingOf(const Sharding &axes) {
  std::vector<std::unique_ptr<plan::DimShardingT>> sharding;
  for (const auto &dim : axes) {
    sharding.push_back(std::make_unique<plan::DimShardingT>());
    sharding.back()->axes = dim;
  }
  return sharding;
}

/// A part under construction, with a lane that sends and one that receives.
class TestPart : public TestPlan {
public:
  explicit TestPart(const std::vector<std::pair<std::string, uint32_t>> &axes)
      : TestPlan(axes), out(lane(plan::LaneKind::copy_out)), in(lane(plan::LaneKind::copy_in)) {}

  uint32_t send(uint32_t channel, uint32_t source, std::vector<int64_t> shape, const Sharding &axes,
                std::vector<plan::Wait> waits) {
    plan::SendT send;
    send.channel = channel;
    send.type = ElementType::i64;
    send.source = source;
    send.shape = std::move(shape);
    send.sharding = shardingOf(axes);
    return command("send", std::move(send), std::move(waits), out);
  }

  uint32_t receive(uint32_t channel, uint32_t target, std::vector<int64_t> shape, const Sharding &axes) {
    plan::ReceiveT receive;
    receive.channel = channel;
    receive.type = ElementType::i64;
    receive.target = target;
    receive.shape = std::move(shape);
    receive.sharding = shardingOf(axes);
    return command("receive", std::move(receive), {}, in);
  }

  plan::PartT take(uint32_t first, std::vector<uint32_t> strides, std::vector<uint32_t> slots) {
    recordOrigins(plan);
    plan::PartT part;
    part.plan = std::make_unique<plan::PlanT>(std::move(plan));
    part.first = first;
    part.strides = std::move(strides);
    part.slots = std::move(slots);
    return part;
  }

private:
  uint32_t out, in;
};

plan::SlotT slotOf(SlotRole role, const std::string &name, std::vector<int64_t> shape, int32_t updates = -1) {
  plan::SlotT slot;
  slot.role = role;
  slot.name = name;
  slot.type = ElementType::i64;
  slot.sharding.resize(shape.size());
  for (auto &dim : slot.sharding)
    dim = std::make_unique<plan::DimShardingT>();
  slot.shape = std::move(shape);
  slot.updates = updates;
  return slot;
}

template <typename... Parts>
std::shared_ptr<const plan::PlanT> join(std::vector<plan::SlotT> slots, Parts... parts) {
  std::vector<plan::PartT> list;
  (list.push_back(std::move(parts)), ...);
  plan::PlanT common;
  common.device_kind = "cpu";
  std::ifstream file(EPL_TEST_KERNELS, std::ios::binary);
  common.images.push_back(std::make_unique<plan::ImageT>());
  common.images[0]->bytes = {std::istreambuf_iterator<char>(file), {}};
  return std::make_shared<plan::PlanT>(joinParts(std::move(common), std::move(slots), std::move(list)));
}

const std::vector<int64_t> kShape = {4, 6};

/// Two devices send a batch to six, which send it back: it is a result here and there, and an increment of
/// it.
std::shared_ptr<const plan::PlanT> echoPlan(const Sharding &here, const Sharding &there) {
  TestPart a({{"data", 2}}), b({{"data", 2}, {"model", 3}});
  uint32_t x = a.slotBuffer(a.slot(SlotRole::batch, "x", ElementType::i64, kShape, here));
  uint32_t back = a.slotBuffer(a.slot(SlotRole::result, "back", ElementType::i64, kShape, here));
  a.send(0, x, kShape, here, {});
  a.receive(1, back, kShape, here);
  uint32_t seen = b.slotBuffer(b.slot(SlotRole::result, "there", ElementType::i64, kShape, there));
  uint64_t bytes = b.plan.buffers[seen]->size;
  uint32_t more = b.buffer(bytes);
  uint32_t received = b.receive(0, seen, kShape, there);
  uint32_t added = b.launch("increment", int64_t(bytes / 8), {seen, more}, {after(received)});
  b.send(1, more, kShape, there, {after(added)});
  std::vector<plan::SlotT> slots;
  slots.push_back(slotOf(SlotRole::batch, "x", kShape));
  slots.push_back(slotOf(SlotRole::result, "back", kShape));
  slots.push_back(slotOf(SlotRole::result, "there", kShape));
  return join(std::move(slots), a.take(0, {4}, {0, 1}), b.take(1, {4, 1}, {2}));
}

TEST(PartsSession, SendsFromAnyShardingToAny) {
  std::vector<int64_t> values(24), next(24);
  std::iota(values.begin(), values.end(), 100);
  std::iota(next.begin(), next.end(), 101);
  for (uint32_t workers : {1, 2, 5}) {
    Executor executor(workers);
    for (const Sharding &here : {Sharding{{}, {}}, Sharding{{"data"}, {}}, Sharding{{}, {"data"}}})
      for (const Sharding &there : {Sharding{{}, {}}, Sharding{{"data"}, {}}, Sharding{{}, {"model"}},
                                    Sharding{{"data"}, {"model"}}, Sharding{{}, {"data", "model"}}}) {
        Session session(echoPlan(here, there), "cpu:8", executor);
        for (int step = 0; step < 3; ++step) {
          Outcome outcome = session.call({tensor(ElementType::i64, kShape, values)}, {false}, "echo");
          EXPECT_EQ(elements<int64_t>(outcome.results[0]), next);
          EXPECT_EQ(elements<int64_t>(outcome.results[1]), values);
        }
      }
  }
}

/// Each part has a state, which it updates with what the other one sends; both read the batch.
std::shared_ptr<const plan::PlanT> statesPlan() {
  TestPart parts[2] = {TestPart({{"data", 1}}), TestPart({{"data", 1}})};
  for (uint32_t index : {0, 1}) {
    TestPart &part = parts[index];
    std::string name = index == 0 ? "u" : "v";
    uint32_t state = part.slot(SlotRole::state, name, ElementType::i64, {3});
    uint32_t batch = part.slot(SlotRole::batch, "x", ElementType::i64, {3});
    part.slot(SlotRole::result, name, ElementType::i64, {3}, {}, int32_t(state));
    uint32_t own = part.slotBuffer(state), x = part.slotBuffer(batch), other = part.buffer(24),
             sum = part.buffer(24), next = part.buffer(24);
    uint32_t sent = part.send(index, own, {3}, {{}}, {});
    uint32_t received = part.receive(1 - index, other, {3}, {{}});
    uint32_t mixed = part.launch("mix", 3, {own, other, sum}, {after(received)});
    uint32_t made = part.launch("mix", 3, {sum, x, next}, {after(mixed)});
    part.copy(next, own, {after(made), after(sent)});
  }
  std::vector<plan::SlotT> slots;
  slots.push_back(slotOf(SlotRole::state, "u", {3}));
  slots.push_back(slotOf(SlotRole::batch, "x", {3}));
  slots.push_back(slotOf(SlotRole::state, "v", {3}));
  slots.push_back(slotOf(SlotRole::result, "u", {3}, 0));
  slots.push_back(slotOf(SlotRole::result, "v", {3}, 2));
  return join(std::move(slots), parts[0].take(0, {1}, {0, 1, 3}), parts[1].take(1, {1}, {2, 1, 4}));
}

TEST(PartsSession, KeepsTheStatesOfEachPart) {
  Session session(statesPlan(), "cpu:2");
  std::vector<uint64_t> u = {1, 2, 3}, v = {40, 50, 60};
  Argument first = integers({1, 2, 3}), second = integers({40, 50, 60});
  for (uint64_t step = 0; step < 20; ++step) {
    std::vector<int64_t> x = {int64_t(step), 7, -int64_t(step)};
    Outcome outcome = session.call({first, integers(x), second}, {true, true, true}, "step");
    first = std::get<std::shared_ptr<StateBuffer>>(outcome.results[0]);
    second = std::get<std::shared_ptr<StateBuffer>>(outcome.results[1]);
    for (size_t i = 0; i < 3; ++i) {
      uint64_t next = 31 * (31 * u[i] + v[i]) + uint64_t(x[i]);
      v[i] = 31 * (31 * v[i] + u[i]) + uint64_t(x[i]);
      u[i] = next;
    }
    EXPECT_EQ(elements<uint64_t>(outcome.results[0]), u);
    EXPECT_EQ(elements<uint64_t>(outcome.results[1]), v);
  }
}

/// The second part has the first two of five rows of a state and the last one, the first part those between;
/// each increments its own. `change` changes the slots of rows before the plan is checked.
std::shared_ptr<const plan::PlanT> rowsPlan(const std::function<void(plan::SlotT &)> &change = {}) {
  TestPart parts[2] = {TestPart({{"data", 1}}), TestPart({{"data", 2}})};
  auto addRows = [&](TestPart &part, int64_t first, int64_t count) {
    uint32_t state = part.slot(SlotRole::state, "w", ElementType::i64, {count, 2});
    part.plan.slots[state]->caller_rows = std::make_unique<plan::CallerRows>(first, 5);
    if (change)
      change(*part.plan.slots[state]);
    return state;
  };
  auto addResult = [&](TestPart &part, uint32_t state) {
    const plan::SlotT &own = *part.plan.slots[state];
    uint32_t result = part.slot(SlotRole::result, "w", ElementType::i64, own.shape, {}, int32_t(state));
    if (own.caller_rows)
      part.plan.slots[result]->caller_rows = std::make_unique<plan::CallerRows>(*own.caller_rows);
    uint32_t buffer = part.slotBuffer(state);
    part.launch("increment", own.shape[0] * own.shape[1], {buffer, buffer});
  };
  uint32_t between = addRows(parts[0], 2, 2), first = addRows(parts[1], 0, 2), last = addRows(parts[1], 4, 1);
  addResult(parts[0], between);
  addResult(parts[1], first);
  addResult(parts[1], last);
  std::vector<plan::SlotT> slots;
  slots.push_back(slotOf(SlotRole::state, "w", {5, 2}));
  slots.push_back(slotOf(SlotRole::result, "w", {5, 2}, 0));
  return join(std::move(slots), parts[0].take(0, {1}, {0, 1}), parts[1].take(1, {1}, {0, 0, 1, 1}));
}

TEST(PartsSession, KeepsTheRowsOfEachPart) {
  Session session(rowsPlan(), "cpu:3");
  std::vector<int64_t> values(10);
  std::iota(values.begin(), values.end(), 100);
  Argument w = tensor(ElementType::i64, {5, 2}, values);
  for (int64_t step = 0; step < 6; ++step) {
    Outcome outcome = session.call({w}, {step % 3 != 1}, "step"); // kept once, so that rows are copied
    for (int64_t &value : values)
      ++value;
    EXPECT_EQ(elements<int64_t>(outcome.results[0]), values);
    auto next = std::get<std::shared_ptr<StateBuffer>>(outcome.results[0]);
    w = step == 3 ? next->copy() : next;
  }
  EXPECT_EQ(elements<int64_t>(session.state(0, tensor(ElementType::i64, {5, 2}, values))), values);
}

TEST(PartsSession, ChecksThatEachRowIsHeldOnce) {
  auto messageOf = [](int64_t first, int64_t to, int64_t count) {
    try {
      rowsPlan([&](plan::SlotT &slot) {
        if (slot.caller_rows->first() == first)
          slot.caller_rows = count ? std::make_unique<plan::CallerRows>(to, count) : nullptr;
      });
    } catch (const PlanError &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using testing::HasSubstr;
  EXPECT_THAT(messageOf(2, 1, 5), HasSubstr("row 1 of slot s0 \"w\" is held twice"));
  EXPECT_THAT(messageOf(2, 3, 5), HasSubstr("row 2 of slot s0 \"w\" is held by no part"));
  EXPECT_THAT(messageOf(4, 0, 5), HasSubstr("row 0 of slot s0 \"w\" is held twice"));
  EXPECT_THAT(messageOf(4, 5, 5), HasSubstr("has the 1 rows from 5 on of 5 of the caller"));
  EXPECT_THAT(messageOf(4, 4, 6), HasSubstr("has another name, role, type or shape than slot s0 \"w\""));
  EXPECT_THAT(messageOf(0, 0, 0), HasSubstr("has another name, role, type or shape than slot s0 \"w\""));
}

TEST(PartsSession, NamesTheDeviceThatFails) {
  TestPart a({{"data", 1}}), b({{"data", 2}});
  uint32_t r = a.slotBuffer(a.slot(SlotRole::result, "r", ElementType::i64, {2}));
  a.receive(0, r, {2}, {{}});
  uint32_t which = b.slotBuffer(b.slot(SlotRole::batch, "which", ElementType::i64, {1}));
  uint32_t failing = b.launch("fail", 1, {which});
  uint32_t made = b.buffer(16);
  uint32_t filled = b.launch("coordinate", 2, {made}, {after(failing)});
  b.send(0, made, {2}, {{}}, {after(filled)});
  std::vector<plan::SlotT> slots;
  slots.push_back(slotOf(SlotRole::batch, "which", {1}));
  slots.push_back(slotOf(SlotRole::result, "r", {2}));
  Session session(join(std::move(slots), a.take(0, {1}, {1}), b.take(1, {1}, {0})), "cpu:3");
  Outcome outcome = session.call({integers({1})}, {false}, "step");
  EXPECT_THAT([&] { outcome.call->wait(); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("on rank 2: as asked")));
  EXPECT_NO_THROW(session.call({integers({5})}, {false}, "step").call->wait());
}

TEST(PartsSession, TracesTheDevicesOfAllParts) {
  Session session(statesPlan(), "cpu:2");
  session.trace(true);
  session.call({integers({1, 2, 3}), integers({1, 2, 3}), integers({1, 2, 3})}, {true, true, true}, "step");
  nlohmann::json trace = nlohmann::json::parse(session.traceJson());
  std::map<std::pair<int, int>, int> commands; // by device and part
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X" && event["args"].contains("command"))
      ++commands[{event["pid"].get<int>(), event["args"]["part"].get<int>()}];
  EXPECT_THAT(commands,
              testing::ElementsAre(testing::Pair(std::pair(0, 0), 5), testing::Pair(std::pair(1, 1), 5)));
}

} // namespace
} // namespace epl::runtime::test
