// Collectives that complete later: each all-reduce is one call, which ends when all members have begun it.

#include "Tensors.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Collective.h"
#include "runtime/collective/inproc/Inproc.h"
#include "runtime/device/cpu/CpuDevices.h"

#include <gmock/gmock.h>

#include <mutex>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;

/// The first half of an all-reduce, which does all of it: the member that comes last computes, the others
/// find it done when they ask.
class WholeAllReduce final : public Command {
public:
  WholeAllReduce(const plan::PlanT &plan, const plan::ReducePartT &action)
      : action(action), members(plan.devices) {}

  CommandState start(const CommandContext &context) override {
    std::lock_guard lock(mutex);
    members[context.rank] = Member::waits;
    auto group = context.topology.members(action.communicator, context.rank);
    if (!std::ranges::all_of(group, [&](uint32_t member) { return members[member] == Member::waits; }))
      return CommandState::pending;
    for (const plan::ReducedTensorT &tensor : action.tensors)
      reduce(tensor, group, context.addresses);
    for (uint32_t member : group)
      members[member] = member == context.rank ? Member::away : Member::done;
    return CommandState::done;
  }
  CommandState proceed(const CommandContext &context) override {
    std::lock_guard lock(mutex);
    if (members[context.rank] != Member::done)
      return CommandState::pending;
    members[context.rank] = Member::away;
    return CommandState::done;
  }
  void cancel(const CommandContext &context) noexcept override {
    std::lock_guard lock(mutex);
    members[context.rank] = Member::away;
  }

private:
  enum class Member { away, waits, done };

  void reduce(const plan::ReducedTensorT &tensor, std::span<const uint32_t> group,
              const AddressTable &addresses) const {
    std::vector<const void *> sources;
    for (uint32_t member : group)
      sources.push_back(addresses.get(member, tensor.source));
    Memory sum(size_t(tensor.count) * elementBytes(tensor.type));
    combineFunction(action.reduction, tensor.type)(sources.data(), sources.size(), sum.data(), 0,
                                                   tensor.count);
    for (uint32_t member : group)
      std::copy_n(sum.data(), sum.size(), static_cast<std::byte *>(addresses.get(member, tensor.target)));
  }

  const plan::ReducePartT &action;
  std::mutex mutex;
  std::vector<Member> members; // of each rank
};

/// The second half: there is nothing left to do.
class Nothing final : public Command {
  CommandState start(const CommandContext &) override { return CommandState::done; }
};

class LateCollectives final : public Collectives {
public:
  std::unique_ptr<BoundCollectives> load(const plan::PlanT &, const Channels &, const LocalRanks &,
                                         DeviceSet &) override {
    return std::make_unique<Bound>();
  }

private:
  struct Bound final : public BoundCollectives {
    std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t, uint32_t command) const override {
      const plan::ReducePartT *reduce = plan.commands[command]->action.AsReducePart();
      if (!reduce)
        return std::make_unique<Nothing>();
      EXPECT_EQ(plan.commands[reduce->gather]->action.AsGatherParts()->reduce, command);
      return std::make_unique<WholeAllReduce>(plan, *reduce);
    }
  };
};

/// n = n + 1; the ranks fail whose coordinate on "data" is `bad`; then n is summed over one axis, and that
/// over the other.
std::shared_ptr<const plan::PlanT> makePlan() {
  TestPlan plan({{"data", 2}, {"model", 2}});
  plan.slot(SlotRole::state, "n", ElementType::i64, {1});
  plan.slot(SlotRole::constant, "bad", ElementType::i64, {1});
  plan.slot(SlotRole::result, "n", ElementType::i64, {1}, {}, 0);
  plan.slot(SlotRole::result, "sum", ElementType::i64, {1});
  uint32_t n = plan.slotBuffer(0), bad = plan.slotBuffer(1), sum = plan.slotBuffer(3), half = plan.buffer(8);
  uint32_t made = plan.launch("increment", 1, {n, n});
  uint32_t checked = plan.launch("fail", 1, {bad}, {after(made)});
  uint32_t first =
      plan.allReduce(plan::ReductionKind::sum, ElementType::i64, n, half, 1, {afterMembers(checked, 0)}, 0);
  plan.allReduce(plan::ReductionKind::sum, ElementType::i64, half, sum, 1, {afterMembers(first, 1)}, 1);
  return plan.finish();
}

class LateCollectivesTest : public testing::TestWithParam<uint32_t> {
protected:
  Outcome call(int64_t n, int64_t bad) {
    return session.call({integers({n}), integers({bad})}, {true, false}, "step");
  }

  Executor executor{GetParam()};
  Session session{makePlan(), Backend{std::make_shared<CpuDevices>(), std::make_shared<LateCollectives>()},
                  executor};
};

TEST_P(LateCollectivesTest, RunBothHalvesAsOne) {
  for (int64_t n = 0; n < 50; ++n)
    EXPECT_EQ(elements<int64_t>(call(n, -1).results[1]), std::vector<int64_t>{4 * (n + 1)});
}

/// Who waits for a member that failed is cancelled, and may begin again in the next step.
TEST_P(LateCollectivesTest, AreCancelledWhereAMemberFails) {
  for (int64_t n = 0; n < 20; ++n) {
    EXPECT_THAT([&] { call(n, n % 2).call->wait(); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("as asked")));
    EXPECT_EQ(elements<int64_t>(call(n, -1).results[1]), std::vector<int64_t>{4 * (n + 1)});
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, LateCollectivesTest, testing::Values(1, 2, 4));

} // namespace
} // namespace epl::runtime::test
