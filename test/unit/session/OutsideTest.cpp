// Steps that pull and push while they run: what is outside answers in any order, from a thread of its own.

#include "Tensors.h"

#include "runtime/Error.h"
#include "runtime/session/Outside.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <thread>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

constexpr uint32_t kA = 0, kB = 1, kP = 4, kQ = 5; // slots

/// On two ranks: q = b + 1 is pushed before a is read; y = 31 x + a, and p = y + 1 is pushed. All are 2 x 2;
/// a, x, y and p are split by `sharding`.
std::shared_ptr<const plan::PlanT> makePlan(const Sharding &sharding) {
  TestPlan plan(2);
  auto slot = [&](SlotRole role, const char *name, const Sharding &how) {
    return plan.slotBuffer(plan.slot(role, name, ElementType::i64, {2, 2}, how));
  };
  uint32_t a = slot(SlotRole::pulled, "a", sharding), b = slot(SlotRole::pulled, "b", {}),
           x = slot(SlotRole::batch, "x", sharding), y = slot(SlotRole::result, "y", sharding),
           p = slot(SlotRole::pushed, "p", sharding), q = slot(SlotRole::pushed, "q", {});
  uint32_t in = plan.lane(plan::LaneKind::pull), out = plan.lane(plan::LaneKind::push);
  auto pull = [&](uint32_t buffer, const char *name) {
    plan::PullT action;
    action.target = buffer;
    return plan.command(name, action, {}, in);
  };
  auto push = [&](uint32_t buffer, const char *name, uint32_t behind) {
    plan::PushT action;
    action.source = buffer;
    plan.command(name, action, {after(behind)}, out);
  };
  uint32_t pulledB = pull(b, "pulled b"), pulledA = pull(a, "pulled a");
  push(q, "q", plan.launch("increment", 4, {b, q}, {after(pulledB)}));
  plan.launch("mix", 2, {x, a, y}, {after(pulledA)});
  push(p, "p", plan.launch("increment", 2, {y, p}));
  return plan.finish();
}

HostTensor matrix(int64_t first) {
  return tensor<int64_t>(ElementType::i64, {2, 2}, {first, first + 1, first + 2, first + 3});
}

/// Answers when it is told to.
class LateOutside final : public Outside {
public:
  void expect(std::span<const Wanted> wanted) override {
    for (const Wanted &each : wanted)
      expected.emplace_back(each.slot, each.tensor.data);
  }
  void pull(std::span<const Wanted> wanted, Listener &from) override {
    std::lock_guard lock(mutex);
    if (!fault.empty())
      throw Error(fault);
    for (const Wanted &each : wanted) {
      asked.push_back(each.slot);
      places.emplace_back(each.slot, each.tensor.data);
      targets.insert_or_assign(each.slot, each.tensor);
    }
    listener = &from;
    changed.notify_all();
  }
  void push(uint32_t slot, const HostTensor &tensor) override {
    std::lock_guard lock(mutex);
    if (!pushFault.empty())
      throw Error(pushFault);
    pushed.emplace_back(slot, elements<int64_t>(tensor));
    changed.notify_all();
  }
  void end() noexcept override {
    std::lock_guard lock(mutex);
    listener = nullptr;
    hasEnded = true;
  }

  /// Writes a value, once it is asked for.
  void deliver(uint32_t slot, int64_t first) {
    await([&] { return listener != nullptr || hasEnded; },
          [&] {
            if (!listener)
              return;
            HostTensor value = matrix(first);
            std::copy_n(value.data, value.type.bytes(), targets.at(slot).data);
            listener->arrived(slot);
          });
  }
  void fail(const std::string &reason) {
    await([&] { return listener != nullptr; }, [&] { listener->failed(reason); });
  }
  void awaitPushes(size_t count) {
    await([&] { return pushed.size() == count; }, [] {});
  }

  std::string fault, pushFault;
  std::vector<uint32_t> asked;
  std::vector<std::pair<uint32_t, std::byte *>> expected, places; // where what is pulled goes
  std::vector<std::pair<uint32_t, std::vector<int64_t>>> pushed;  // in order
  bool hasEnded = false;

private:
  template <typename Condition, typename Action>
  void await(const Condition &condition, const Action &action) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), condition));
    action();
  }

  std::mutex mutex;
  std::condition_variable changed;
  Listener *listener = nullptr;
  std::map<uint32_t, HostTensor> targets;
};

struct Setting {
  uint32_t workers;
  Sharding sharding;
};

class OutsideSteps : public testing::TestWithParam<Setting> {
protected:
  Outcome call(const std::shared_ptr<Outside> &outside, int64_t x = 0) {
    return session.call({Pulled(), Pulled(), matrix(x)}, {false, false, false}, "step", /*waits=*/false,
                        outside);
  }
  /// A step whose values are there soon.
  void step(int64_t first) {
    auto outside = std::make_shared<LateOutside>();
    Outcome outcome = call(outside, first);
    std::thread server([&] {
      for (uint32_t slot : first % 2 == 0 ? std::vector{kA, kB} : std::vector{kB, kA})
        outside->deliver(slot, 10 * first + slot);
    });
    server.join();
    outcome.call->wait();
    std::vector<int64_t> y, p, q;
    for (int64_t i = 0; i < 4; ++i) {
      y.push_back(31 * (first + i) + 10 * first + kA + i);
      p.push_back(y.back() + 1);
      q.push_back(10 * first + kB + i + 1);
    }
    ASSERT_EQ(outcome.results.size(), 1u) << "what is pushed is no result of the caller";
    EXPECT_EQ(elements<int64_t>(outcome.results[0]), y);
    EXPECT_THAT(outside->asked, ElementsAre(kB, kA));
    EXPECT_THAT(outside->pushed, ElementsAre(std::pair(kQ, q), std::pair(kP, p)));
    EXPECT_TRUE(outside->hasEnded);
  }

  Executor executor{GetParam().workers};
  Session session{makePlan(GetParam().sharding), "cpu:2", executor};
};

TEST_P(OutsideSteps, ComputeWhatComesInAnyOrder) {
  for (int64_t first = 1; first <= 40; ++first)
    step(first);
}

TEST_P(OutsideSteps, PushBeforeTheLastPullHasCome) {
  auto outside = std::make_shared<LateOutside>();
  Outcome outcome = call(outside);
  outside->deliver(kB, 0);
  outside->awaitPushes(1);
  EXPECT_FALSE(outcome.call->done());
  EXPECT_EQ(outside->pushed.front().first, kQ);
  outside->deliver(kA, 0);
  outcome.call->wait();
  EXPECT_EQ(outside->pushed.size(), 2u);
}

TEST_P(OutsideSteps, MayBeExpected) {
  auto before = std::make_shared<LateOutside>(), outside = std::make_shared<LateOutside>();
  Outcome first = call(before);
  std::thread server([&] {
    before->deliver(kA, 0);
    EXPECT_THAT(outside->expected, IsEmpty()); // the memory is that of the step before
    before->deliver(kB, 0);
  });
  session.expect(*outside);
  server.join();
  EXPECT_TRUE(first.call->done());
  Outcome outcome = call(outside);
  outside->deliver(kB, 0);
  outside->deliver(kA, 0);
  outcome.call->wait();
  EXPECT_EQ(outside->expected.size(), 2u);
  EXPECT_EQ(outside->expected, outside->places);
}

TEST_P(OutsideSteps, FailWhereSomethingWillNotCome) {
  auto outside = std::make_shared<LateOutside>();
  Outcome outcome = call(outside);
  outside->deliver(kB, 0);
  outside->fail("server 1 is lost");
  EXPECT_THAT([&] { outcome.call->wait(); }, ThrowsMessage<Error>("call 1 of step failed: server 1 is lost"));
  EXPECT_TRUE(outside->hasEnded);
  step(3);
}

TEST_P(OutsideSteps, FailWhereTheOutsideDoes) {
  auto outside = std::make_shared<LateOutside>();
  outside->fault = "there is no server";
  EXPECT_THAT([&] { call(outside).call->wait(); },
              ThrowsMessage<Error>("call 1 of step failed: there is no server"));
  EXPECT_TRUE(outside->hasEnded);
  outside = std::make_shared<LateOutside>();
  outside->pushFault = "the server is full";
  Outcome outcome = call(outside);
  outside->deliver(kB, 0);
  outside->deliver(kA, 0);
  EXPECT_THAT([&] { outcome.call->wait(); },
              ThrowsMessage<Error>(HasSubstr("command \"q\" of model.py:4 on rank ")));
  step(3);
}

TEST_P(OutsideSteps, EndWhereTheyAreStopped) {
  auto outside = std::make_shared<LateOutside>();
  Outcome outcome = call(outside);
  outside->deliver(kB, 0);
  outcome.call->cancel("interrupted");
  EXPECT_THAT([&] { outcome.call->wait(); }, ThrowsMessage<Error>("call 1 of step failed: interrupted"));
  EXPECT_TRUE(outside->hasEnded);
  step(3);
}

// Steps are queued; each asks for its values when it begins.
TEST_P(OutsideSteps, FollowOneAnother) {
  auto first = std::make_shared<LateOutside>(), second = std::make_shared<LateOutside>();
  Outcome one = call(first), two = call(second);
  first->deliver(kA, 0);
  EXPECT_TRUE(second->asked.empty());
  first->deliver(kB, 0);
  second->deliver(kB, 0);
  second->deliver(kA, 0);
  two.call->wait();
  EXPECT_EQ(second->pushed, first->pushed);
}

TEST_P(OutsideSteps, AreGivenAllThatIsOutside) {
  auto callWith = [&](std::vector<Argument> arguments, std::shared_ptr<Outside> outside) {
    return [this, arguments, outside] {
      session.call(arguments, std::vector<bool>(arguments.size()), "step", false, outside);
    };
  };
  auto outside = std::make_shared<LateOutside>();
  EXPECT_THAT(callWith({Pulled(), Pulled(), matrix(0)}, nullptr),
              ThrowsMessage<Error>(HasSubstr("step pulls or pushes values, and was not given where")));
  EXPECT_THAT(callWith({Pulled(), matrix(0), matrix(0)}, outside),
              ThrowsMessage<Error>("argument \"b\" is pulled, expected no value for it"));
  EXPECT_THAT(callWith({Pulled(), Pulled(), Pulled()}, outside),
              ThrowsMessage<Error>("argument \"x\" is not pulled, expected a value"));
  EXPECT_TRUE(outside->asked.empty());
}

TEST_P(OutsideSteps, RunOnTensorsThatAreThere) {
  auto outside =
      std::make_shared<OutsideTensors>(std::map<uint32_t, HostTensor>{{kA, matrix(5)}, {kB, matrix(7)}});
  Outcome outcome = call(outside);
  outcome.call->wait();
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), (std::vector<int64_t>{5, 37, 69, 101}));
  EXPECT_EQ(elements<int64_t>(outside->pushes().at(kP)), (std::vector<int64_t>{6, 38, 70, 102}));
  EXPECT_EQ(elements<int64_t>(outside->pushes().at(kQ)), (std::vector<int64_t>{8, 9, 10, 11}));
  auto wrong = std::make_shared<OutsideTensors>(std::map<uint32_t, HostTensor>{{kB, integers({1})}});
  EXPECT_THAT([&] { call(wrong).call->wait(); },
              ThrowsMessage<Error>(HasSubstr("there is int64[1] for slot 1, expected int64[2,2]")));
}

INSTANTIATE_TEST_SUITE_P(Settings, OutsideSteps,
                         testing::Values(Setting{1, {{"data"}, {}}}, Setting{2, {{"data"}, {}}},
                                         Setting{1, {{}, {"data"}}}, Setting{2, {{}, {"data"}}}));

TEST(Outside, IsOfPlansThatPull) {
  TestPlan plan(1);
  uint32_t x = plan.slotBuffer(plan.slot(SlotRole::batch, "x", ElementType::i64, {1}));
  uint32_t y = plan.slotBuffer(plan.slot(SlotRole::result, "y", ElementType::i64, {1}));
  plan.launch("increment", 1, {x, y});
  Session session(plan.finish(), "cpu:1");
  EXPECT_THAT([&] { session.call({integers({1})}, {false}, "step", false, std::make_shared<LateOutside>()); },
              ThrowsMessage<Error>("step pulls and pushes nothing, but was given what is outside"));
}

} // namespace
} // namespace epl::runtime::test
