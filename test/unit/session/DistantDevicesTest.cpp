// Sessions on devices whose memory the host cannot reach, and states of which some ranks are here.

#include "Tensors.h"

#include "runtime/Error.h"
#include "runtime/collective/inproc/Inproc.h"
#include "runtime/device/cpu/CpuDevices.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;
using testing::ThrowsMessage;
using Buffer = std::shared_ptr<StateBuffer>;

/// CPU devices that say their memory is elsewhere: all that goes there and comes from there is copied.
class DistantDevices final : public DeviceSet {
public:
  bool usesHostMemory() const override { return false; }
  std::unique_ptr<Allocation> allocate(uint32_t device, size_t size, Memory::Fill fill) override {
    ++allocations;
    return cpu.allocate(device, size, fill);
  }
  std::unique_ptr<Allocation> allocateInHost(uint32_t device, size_t size) override {
    ++hostAllocations;
    pinnedBy.insert(device);
    return cpu.allocate(device, size, Memory::Fill::none);
  }
  void copyIn(const std::byte *host, Allocation &to) override { ++copiesIn, cpu.copyIn(host, to); }
  void copyOut(const Allocation &from, std::byte *host) override { ++copiesOut, cpu.copyOut(from, host); }
  void copy(const Allocation &from, Allocation &to) override { ++copies, cpu.copy(from, to); }
  std::unique_ptr<Code> load(const plan::PlanT &plan) override { return cpu.load(plan); }

  std::atomic<int> allocations = 0, hostAllocations = 0, copiesIn = 0, copiesOut = 0, copies = 0;
  std::set<uint32_t> pinnedBy; // the devices that have memory of the host

private:
  CpuDevices cpu;
};

class NoCollectives final : public Collectives {
  struct None final : public BoundCollectives {
    std::unique_ptr<Command> bind(const plan::PlanT &, uint32_t, uint32_t) const override {
      throw Error("there are no collectives");
    }
  };
  std::unique_ptr<BoundCollectives> load(const plan::PlanT &, const Channels &, const LocalRanks &,
                                         DeviceSet &) override {
    return std::make_unique<None>();
  }
};

/// On two ranks: a state that counts, and a batch with its increment, both split by `sharding`.
std::shared_ptr<const plan::PlanT> makePlan(const Sharding &sharding) {
  TestPlan plan(2);
  plan.slot(SlotRole::state, "n", ElementType::i64, {4, 2}, sharding);
  plan.slot(SlotRole::batch, "x", ElementType::i64, {4, 2}, sharding);
  plan.slot(SlotRole::result, "n", ElementType::i64, {4, 2}, sharding, 0);
  plan.slot(SlotRole::result, "y", ElementType::i64, {4, 2}, sharding);
  uint32_t n = plan.slotBuffer(0), x = plan.slotBuffer(1), y = plan.slotBuffer(3);
  int64_t count = int64_t(plan.plan.buffers[n]->size / 8);
  plan.launch("increment", count, {n, n});
  plan.launch("increment", count, {x, y});
  return plan.finish();
}

HostTensor matrix(int64_t first) {
  std::vector<int64_t> values(8);
  std::iota(values.begin(), values.end(), first);
  return tensor(ElementType::i64, {4, 2}, values);
}

TEST(DistantDevices, ComputeWhatThoseOfTheHostDo) {
  for (const Sharding &sharding : {Sharding{}, Sharding{{"data"}}, Sharding{{}, {"data"}}}) {
    auto devices = std::make_shared<DistantDevices>();
    Session session(makePlan(sharding), Backend{devices, std::make_shared<NoCollectives>()});
    Argument n = matrix(10);
    for (int64_t step = 1; step <= 3; ++step) {
      bool donates = step != 2;
      Outcome outcome = session.call({n, matrix(100 * step)}, {donates, false}, "step");
      EXPECT_EQ(elements<int64_t>(outcome.results[0]), elements<int64_t>(matrix(10 + step)));
      EXPECT_EQ(elements<int64_t>(outcome.results[1]), elements<int64_t>(matrix(100 * step + 1)));
      n = std::get<Buffer>(outcome.results[0]);
    }
    bool isReplicated = sharding.empty();
    EXPECT_EQ(devices->copiesIn, 2 + 3 * 2); // the state once, each batch, on two ranks
    EXPECT_EQ(devices->copiesOut, 3 * 2 * (isReplicated ? 1 : 2));
    EXPECT_EQ(devices->copies, 2); // of the state that is kept
  }
}

/// The same state in memory of the host, from which a rank copies it, and back.
std::shared_ptr<const plan::PlanT> offloadedPlan() {
  TestPlan plan(2);
  for (uint32_t slot : {plan.slot(SlotRole::state, "n", ElementType::i64, {4, 2}, {{"data"}}),
                        plan.slot(SlotRole::result, "n", ElementType::i64, {4, 2}, {{"data"}}, 0)})
    plan.plan.slots[slot]->in_host = true;
  uint32_t in = plan.lane(plan::LaneKind::copy_in), out = plan.lane(plan::LaneKind::copy_out);
  uint32_t n = plan.slotBuffer(0), copy = plan.buffer(plan.plan.buffers[n]->size);
  uint32_t first = plan.copy(n, copy, {}, in);
  uint32_t second = plan.launch("increment", 4, {copy, copy}, {after(first)});
  plan.copy(copy, n, {after(second)}, out);
  return plan.finish();
}

TEST(DistantDevices, FindStatesInTheHostWhereTheHostDoes) {
  auto devices = std::make_shared<DistantDevices>();
  Session session(offloadedPlan(), Backend{devices, std::make_shared<NoCollectives>()});
  Buffer n = session.state(0, matrix(0));
  EXPECT_EQ(devices->hostAllocations, 2);
  auto [shards, owner] = n->shards();
  EXPECT_EQ(shards[1].data, n->blocks()[1].data) << "a view";
  EXPECT_EQ(devices->copiesOut, 0);
  Outcome outcome = session.call({n}, {true}, "step");
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), elements<int64_t>(matrix(1)));
  EXPECT_EQ(*reinterpret_cast<const int64_t *>(shards[1].data), 4) << "no step writes what is viewed";
  for (const Holder &holder : std::get<Buffer>(outcome.results[0])->holders())
    EXPECT_EQ(holder.card, std::nullopt);
}

TEST(DistantDevices, GiveACopyOfWhatTheyHave) {
  auto devices = std::make_shared<DistantDevices>();
  Session session(makePlan({{}, {"data"}}), Backend{devices, std::make_shared<NoCollectives>()});
  Buffer n = session.state(0, matrix(0));
  auto [shards, owner] = n->shards();
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_EQ(devices->copiesOut, 2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const auto *data = reinterpret_cast<const int64_t *>(shards[rank].data);
    EXPECT_EQ(shards[rank].device, rank);
    EXPECT_EQ(std::vector<int64_t>(data, data + 4),
              std::vector<int64_t>({rank, 2 + rank, 4 + rank, 6 + rank}));
  }
  session.call({n, matrix(0)}, {true, false}, "step").call->wait();
  EXPECT_EQ(*reinterpret_cast<const int64_t *>(shards[0].data), 0) << "no step writes a copy";
}

TEST(DistantDevices, TakeWhatWasWrittenInTheHostOnce) {
  auto devices = std::make_shared<DistantDevices>();
  Session session(makePlan({{"data"}}), Backend{devices, std::make_shared<NoCollectives>()});
  Buffer n = session.newState(0);
  auto [shards, owner] = n->draft();
  for (Shard &shard : shards)
    for (int64_t i = 0; i < 4; ++i)
      reinterpret_cast<int64_t *>(shard.data)[i] = 4 * int64_t(shard.device) + i;
  EXPECT_EQ(devices->copiesIn, 0);
  EXPECT_EQ(elements<int64_t>(n->copyToHost()), elements<int64_t>(matrix(0)));
  EXPECT_EQ(elements<int64_t>(n->copyToHost()), elements<int64_t>(matrix(0)));
  EXPECT_EQ(devices->copiesIn, 2);
}

TEST(DistantDevices, HaveACopyOfAConstantEach) {
  auto devices = std::make_shared<DistantDevices>();
  Session session(makePlan({}), Backend{devices, std::make_shared<NoCollectives>()});
  Buffer x = session.state(1, matrix(5));
  EXPECT_FALSE(x->use()->isShared());
  Outcome outcome = session.call({matrix(0), x}, {false, false}, "step");
  EXPECT_EQ(elements<int64_t>(outcome.results[1]), elements<int64_t>(matrix(6)));
}

TEST(DistantDevices, TakeMemoryForAnArgumentOnceItComesFromTheHost) {
  auto devices = std::make_shared<DistantDevices>();
  Session session(makePlan({}), Backend{devices, std::make_shared<NoCollectives>()});
  Argument n = session.state(0, matrix(0));
  auto step = [&](const Argument &x) {
    Outcome outcome = session.call({n, x}, {true, false}, "step");
    outcome.call->wait();
    n = std::get<Buffer>(outcome.results[0]);
    return devices->allocations.load();
  };
  Buffer x = session.state(1, matrix(5));
  int before = devices->allocations;
  EXPECT_EQ(step(x), before);
  EXPECT_EQ(step(matrix(5)), before + 2); // of two ranks
  EXPECT_EQ(step(matrix(6)), before + 2);
}

TEST(DistantDevices, CannotHaveCollectivesOfTheProcess) {
  EXPECT_THAT(
      [] {
        Session(makePlan({}),
                Backend{std::make_shared<DistantDevices>(), std::make_shared<InprocCollectives>()});
      },
      ThrowsMessage<Error>("collectives within a process need devices that use its memory"));
}

/// How two ranks hold a tensor of eight bytes each, of which those are here that have a device.
StorageKind kindOf(const TestPlan &plan, std::shared_ptr<DeviceSet> devices, RankDevices here) {
  SlotLayout layout(plan.plan, *plan.plan.slots[0], Topology(plan.plan));
  return {std::move(devices), {{std::move(layout), std::move(here), {0, 1}}}};
}

/// A tensor of eight bytes a rank, on the second of two ranks alone.
Storage onSecondRank(const TestPlan &plan) {
  return Storage(
      std::make_shared<StorageKind>(kindOf(plan, std::make_shared<CpuDevices>(), {std::nullopt, 1})));
}

TEST(Storage, CopiesWhatIsHere) {
  TestPlan plan(2);
  plan.slot(SlotRole::state, "n", ElementType::i64, {2}, {{"data"}});
  Storage storage = onSecondRank(plan);
  HostTensor values = integers({3, 4});
  storage.copyFromHost(values.data);
  EXPECT_EQ(*reinterpret_cast<int64_t *>(storage.block(0, 1).address()), 4);
  EXPECT_FALSE(storage.isHere());
  HostTensor copy = integers({1, 2});
  storage.copyToHost(copy.data);
  EXPECT_EQ(elements<int64_t>(copy), (std::vector<int64_t>{1, 4}));
}

/// One memory of all ranks that are here is that of a device that is here; none where all are elsewhere.
TEST(Storage, SharesMemoryOfTheHostOfADeviceThatIsHere) {
  TestPlan plan(2);
  plan.slot(SlotRole::state, "n", ElementType::i64, {1});
  for (const RankDevices &here : {RankDevices{std::nullopt, 1}, RankDevices{std::nullopt, std::nullopt}}) {
    auto devices = std::make_shared<DistantDevices>();
    StorageKind kind = kindOf(plan, devices, here);
    kind.inHost = true;
    Storage storage(std::make_shared<StorageKind>(kind), /*isShared=*/true);
    EXPECT_TRUE(storage.isShared());
    EXPECT_EQ(devices->pinnedBy, here[1] ? std::set<uint32_t>{1} : std::set<uint32_t>{});
    storage.copyFromHost(integers({7}).data);
    HostTensor copy = integers({0});
    storage.copyToHost(copy.data);
    EXPECT_EQ(elements<int64_t>(copy)[0], here[1] ? 7 : 0);
  }
}

TEST(Storage, ShowsTheCopyThatIsHere) {
  TestPlan plan(2);
  plan.slot(SlotRole::state, "n", ElementType::i64, {1});
  Storage storage = onSecondRank(plan);
  storage.copyFromHost(integers({7}).data);
  EXPECT_EQ(*reinterpret_cast<const int64_t *>(storage.wholeInHost()), 7);
  EXPECT_EQ(storage.wholeInHost(), storage.block(0, 1).address());
  HostTensor copy = integers({0});
  storage.copyToHost(copy.data);
  EXPECT_EQ(elements<int64_t>(copy), std::vector<int64_t>{7});
}

} // namespace
} // namespace epl::runtime::test
