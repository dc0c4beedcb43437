// Sessions of processes that share a network in this one: each has some of the ranks.

#include "Tensors.h"

#include "runtime/Error.h"
#include "runtime/collective/messages/MessageCollectives.h"
#include "runtime/device/cpu/CpuDevices.h"
#include "runtime/session/OpenDevices.h"
#include "test/unit/collective/messages/Network.h"

#include <gmock/gmock.h>

#include <deque>
#include <numeric>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;
using testing::ThrowsMessage;

/// One session of each process, all in this thread: calls return at once.
class SessionsOfProcesses {
public:
  SessionsOfProcesses(const std::shared_ptr<const plan::PlanT> &plan, uint32_t processes, unsigned seed = 1)
      : network(processes, seed) {
    for (uint32_t process = 0; process < processes; ++process) {
      Backend backend{std::make_shared<CpuDevices>(), nullptr, network.join(process)};
      backend.collectives =
          std::make_shared<MessageCollectives>(backend.processes, backend.divide(*plan).devicesEach);
      executors.emplace_back(2);
      sessions.push_back(std::make_unique<Session>(plan, backend, executors.back()));
    }
  }

  Session &session(uint32_t process) { return *sessions[process]; }
  /// What each process has of a call.
  std::vector<std::vector<Result>> call(const std::vector<std::vector<Argument>> &arguments) {
    std::vector<std::vector<Result>> results;
    std::vector<Outcome> outcomes = begin(arguments);
    for (Outcome &outcome : outcomes) {
      outcome.call->wait();
      results.push_back(std::move(outcome.results));
    }
    return results;
  }
  /// How a call ends in each process.
  std::vector<std::string> errorsOf(const std::vector<std::vector<Argument>> &arguments) {
    std::vector<std::string> errors;
    for (const Outcome &outcome : begin(arguments)) {
      outcome.call->waitForEnd();
      errors.push_back(outcome.call->error());
    }
    return errors;
  }

private:
  std::vector<Outcome> begin(const std::vector<std::vector<Argument>> &arguments) {
    std::vector<Outcome> outcomes;
    outcomes.reserve(sessions.size());
    for (uint32_t process = 0; process < sessions.size(); ++process)
      outcomes.push_back(sessions[process]->call(arguments[process],
                                                 std::vector<bool>(arguments[process].size(), true), "step"));
    return outcomes;
  }

  Network network;
  std::deque<Executor> executors;
  std::vector<std::unique_ptr<Session>> sessions;
};

/// All that a process has of a value, put where it belongs in a tensor of -1.
std::vector<int64_t> partsOf(const Result &result) {
  const StateBuffer &state = *std::get<std::shared_ptr<StateBuffer>>(result);
  std::vector<int64_t> whole(state.type().bytes() / 8, -1);
  auto [shards, owner] = state.shards();
  for (const Shard &shard : shards) {
    const Box::Range &range = shard.box.dims[0];
    for (size_t i = 0; i < range.extent; ++i)
      whole[range.begin + i] = *reinterpret_cast<const int64_t *>(shard.data + i * range.stride);
  }
  return whole;
}

/// x, which is split, plus one; and its sum over the ranks, which all have.
std::shared_ptr<const plan::PlanT> makePlan(uint32_t ranks, int64_t count) {
  TestPlan plan(ranks);
  uint32_t x = plan.slotBuffer(
      plan.slot(SlotRole::batch, "x", ElementType::i64, {int64_t(ranks) * count}, {{"data"}}));
  uint32_t next = plan.slotBuffer(
      plan.slot(SlotRole::result, "next", ElementType::i64, {int64_t(ranks) * count}, {{"data"}}));
  uint32_t sum = plan.slotBuffer(plan.slot(SlotRole::result, "sum", ElementType::i64, {count}));
  plan.launch("increment", count, {x, next}, {});
  plan.allReduce(plan::ReductionKind::sum, ElementType::i64, x, sum, count, {});
  return plan.finish();
}

TEST(SessionProcesses, HaveResultsThatAllHoldAndPartsOfOthers) {
  for (uint32_t processes : {2, 3})
    for (int64_t count : {1, 5}) {
      int64_t size = 6 * count;
      std::vector<int64_t> values(size), next(size), sum(count);
      std::iota(values.begin(), values.end(), 10);
      for (int64_t i = 0; i < size; ++i) {
        next[i] = values[i] + 1;
        sum[i % count] += values[i];
      }
      SessionsOfProcesses run(makePlan(6, count), processes);
      for (int step = 0; step < 3; ++step) {
        auto results = run.call(std::vector<std::vector<Argument>>(processes, {integers(values)}));
        for (uint32_t process = 0; process < processes; ++process) {
          std::vector<int64_t> own(size, -1);
          int64_t each = size / processes;
          std::copy_n(next.begin() + process * each, each, own.begin() + process * each);
          EXPECT_EQ(partsOf(results[process][0]), own) << "process " << process;
          EXPECT_EQ(elements<int64_t>(results[process][1]), sum) << "process " << process;
        }
      }
    }
}

TEST(SessionProcesses, KnowWhatOthersHave) {
  SessionsOfProcesses run(makePlan(2, 3), 2);
  auto results = run.call(std::vector<std::vector<Argument>>(2, {integers({1, 2, 3, 4, 5, 6})}));
  for (uint32_t process : {0, 1}) {
    std::vector<Shard> all = std::get<std::shared_ptr<StateBuffer>>(results[process][0])->allShards();
    ASSERT_EQ(all.size(), 2u);
    for (uint32_t device : {0, 1}) {
      EXPECT_EQ(all[device].device, device);
      EXPECT_EQ(all[device].box.dims[0].begin, 3 * device);
      EXPECT_EQ(all[device].data == nullptr, device != process);
      EXPECT_EQ(all[device].copy, 0u);
    }
  }
}

TEST(SessionProcesses, SayThatOthersHaveParts) {
  SessionsOfProcesses run(makePlan(2, 3), 2);
  auto results = run.call(std::vector<std::vector<Argument>>(2, {integers({1, 2, 3, 4, 5, 6})}));
  auto &state = std::get<std::shared_ptr<StateBuffer>>(results[1][0]);
  EXPECT_FALSE(state->isHere());
  EXPECT_THAT(
      [&] { state->toHost(); },
      ThrowsMessage<Error>("\"next\" is in parts that other processes have: epl.gather gives the whole of "
                           "it in all of them, addressable_shards what is here"));
}

/// A scale that all ranks read, a batch, and a state that is split.
std::shared_ptr<const plan::PlanT> makeScaledPlan(uint32_t ranks) {
  TestPlan plan(ranks);
  plan.slotBuffer(plan.slot(SlotRole::state, "w", ElementType::i64, {int64_t(ranks)}, {{"data"}}));
  uint32_t scale = plan.slotBuffer(plan.slot(SlotRole::constant, "scale", ElementType::i64, {1}));
  plan.slotBuffer(plan.slot(SlotRole::batch, "x", ElementType::i64, {int64_t(ranks)}, {{"data"}}));
  uint32_t sum = plan.slotBuffer(plan.slot(SlotRole::result, "sum", ElementType::i64, {1}));
  plan.allReduce(plan::ReductionKind::sum, ElementType::i64, scale, sum, 1, {});
  return plan.finish();
}

TEST(SessionProcesses, PassTheSame) {
  SessionsOfProcesses run(makeScaledPlan(3), 3);
  std::vector<Argument> own{integers({1, 2, 3}), integers({7}), integers({4, 5, 6})};
  std::vector<Argument> other = own;
  other[2] = integers({8, 9, 10}); // each reads its own rows
  auto results = run.call({own, other, own});
  EXPECT_EQ(elements<int64_t>(results[2][0]), std::vector<int64_t>{21});
}

TEST(SessionProcesses, FailIfTheyPassOtherValues) {
  std::vector<Argument> own{integers({1, 2, 3}), integers({7}), integers({4, 5, 6})};
  for (const auto &[index, argument, message] :
       {std::tuple<size_t, Argument, std::string>{
            1, integers({8}),
            "argument \"scale\" is 7 in process 0 and 8 in process 1, expected the same in all processes"},
        {0, integers({1, 2, 4}),
         "argument \"w\", int64[3], has other values in process 0 than in process 1, expected the same in "
         "all "
         "processes"}}) {
    SessionsOfProcesses run(makeScaledPlan(3), 3);
    std::vector<Argument> other = own;
    other[index] = argument;
    std::vector<std::string> errors = run.errorsOf({own, other, own});
    EXPECT_THAT(errors[0], testing::HasSubstr(message));
    for (const std::string &error : errors)
      EXPECT_THAT(error, testing::HasSubstr("in process 1"));
  }
}

TEST(SessionProcesses, DivideDevices) {
  TestPlan plan(8);
  auto finished = plan.finish();
  Network network(3, 1);
  EXPECT_THAT([&] { openDevices(*finished, "cpu:8", network.join(0)); },
              ThrowsMessage<Error>("\"cpu:8\" are divided among 3 processes, expected a number of devices "
                                   "that this divides"));
}

} // namespace
} // namespace epl::runtime::test
