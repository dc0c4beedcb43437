// What a server holds, updated by hand-written plans beside plain loops.

#include "runtime/servers/store/BlockStore.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/servers/store/Average.h"
#include "test/unit/executor/TestPlan.h"
#include "test/unit/servers/Descent.h"
#include "test/unit/session/Tensors.h"

#include <gmock/gmock.h>

#include <future>

namespace epl::runtime::servers::test {
namespace {

using plan::ElementType;
using plan::SlotRole;
using runtime::test::elements;
using runtime::test::TestPlan;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A store of "w" with five elements, 10 each, in two blocks.
struct Fixture {
  explicit Fixture(bool backup = false)
      : manifest(descentManifest({5, 3, 1, 1, backup ? manifest::Mode::dc_asgd : manifest::Mode::async})),
        plans(*manifest, 0) {
    plans.set(0, descentPlan(3, backup));
    plans.set(1, descentPlan(2, backup));
    store = std::make_unique<BlockStore>(manifest, 0, plans, 2);
    EXPECT_FALSE(store->isComplete());
    store->set(0, BlockStore::kParameter, floats({10, 10, 10}));
    store->set(1, BlockStore::kParameter, floats({10, 10}));
    for (uint32_t block : store->blocks())
      store->set(block, 0, runtime::test::integers({0}));
    EXPECT_TRUE(store->isComplete());
  }

  /// Updates a block and waits; why it failed.
  std::string update(uint32_t block, BlockStore::Update update) {
    std::promise<std::string> done;
    store->update(block, std::move(update), [&](const std::string &error) { done.set_value(error); });
    return done.get_future().get();
  }
  std::vector<float> parameter(uint32_t block) {
    return elements<float>(store->value(block, BlockStore::kParameter));
  }

  std::shared_ptr<manifest::ManifestT> manifest;
  ApplyPlans plans;
  std::unique_ptr<BlockStore> store;
};

TEST(BlockStore, AppliesTheAverageOfGradients) {
  Fixture fixture;
  EXPECT_EQ(fixture.update(0, {{floats({2, 4, 6}), floats({4, 0, 2})}, 0.5}), "");
  EXPECT_EQ(fixture.update(1, {{floats({8, 1})}}), "");
  EXPECT_EQ(fixture.update(1, {{floats({8, 1})}}), "");
  EXPECT_EQ(fixture.parameter(0), (std::vector<float>{8.5, 9, 8}));
  EXPECT_EQ(fixture.parameter(1), (std::vector<float>{2, 9}));
  EXPECT_EQ(elements<int64_t>(fixture.store->value(1, 0)), std::vector<int64_t>{2});
}

/// A push of block 0 of a job with a rate: the gradient, and the rate behind it.
HostTensor pushOf(const std::vector<float> &gradient, float rate) {
  std::vector<float> values(17);
  std::ranges::copy(gradient, values.begin());
  values.back() = rate; // at byte 64
  return floats(values);
}

TEST(BlockStore, AveragesEachTensorOfAPush) {
  auto manifest = descentManifest({3, 3, 1, 2, manifest::Mode::sync, /*rate=*/true});
  ASSERT_EQ(BlockTable(*manifest).pushBytes(0), 68u);
  ApplyPlans plans(*manifest, 0);
  plans.set(0, descentPlan(3, /*backup=*/false, /*rate=*/true));
  BlockStore store(manifest, 0, plans, 1);
  store.set(0, BlockStore::kParameter, floats({10, 10, 10}));
  store.set(0, 0, runtime::test::integers({0}));
  std::promise<std::string> done;
  store.update(0, {{pushOf({2, 4, 6}, 1), pushOf({4, 0, 2}, 3)}, 0.5},
               [&](const std::string &error) { done.set_value(error); });
  EXPECT_EQ(done.get_future().get(), "");
  EXPECT_EQ(elements<float>(store.value(0, BlockStore::kParameter)), (std::vector<float>{4, 6, 2}));
}

TEST(BlockStore, LeavesStatesThatItsPlanOnlyReads) {
  TestPlan made(1);
  uint32_t w = made.slot(SlotRole::state, "w", ElementType::f32, {3});
  made.slot(SlotRole::constant, "n", ElementType::i64, {1});
  uint32_t g = made.slot(SlotRole::batch, "g", ElementType::f32, {3});
  made.slot(SlotRole::result, "w", ElementType::f32, {3}, {}, int32_t(w));
  uint32_t parameter = made.slotBuffer(w);
  made.launch("descend_f32", 3, {parameter, made.slotBuffer(g), parameter});
  std::vector<uint8_t> bytes = serializePlan(*made.finish());
  auto manifest = descentManifest({3, 3});
  Hash128 hash = hashBytes(bytes);
  manifest->plans[0]->hash_low = hash.low, manifest->plans[0]->hash_high = hash.high;
  ApplyPlans plans(*manifest, 0);
  plans.set(0, bytes);
  BlockStore store(manifest, 0, plans, 1);
  store.set(0, BlockStore::kParameter, floats({10, 10, 10}));
  store.set(0, 0, runtime::test::integers({7}));
  for (int i = 0; i < 2; ++i) {
    std::promise<std::string> done;
    store.update(0, {{floats({2, 4, 6})}}, [&](const std::string &error) { done.set_value(error); });
    EXPECT_EQ(done.get_future().get(), "");
  }
  EXPECT_EQ(elements<float>(store.value(0, BlockStore::kParameter)), (std::vector<float>{8, 6, 4}));
  EXPECT_EQ(elements<int64_t>(store.value(0, 0)), std::vector<int64_t>{7});
}

TEST(BlockStore, LeavesWhatSomebodyViews) {
  Fixture fixture;
  HostTensor before = fixture.store->value(1, BlockStore::kParameter);
  EXPECT_EQ(fixture.update(1, {{floats({8, 1})}}), "");
  EXPECT_EQ(elements<float>(before), (std::vector<float>{10, 10}));
  EXPECT_EQ(fixture.parameter(1), (std::vector<float>{6, 9.5}));
  fixture.store = nullptr;
  EXPECT_EQ(elements<float>(before), (std::vector<float>{10, 10}));
}

TEST(BlockStore, UpdatesBlocksSideBySide) {
  std::atomic<int> left = 2;
  std::promise<void> done;
  Fixture fixture;                                 // ends before these: its threads may still look at them
  for (uint32_t block : fixture.store->blocks()) { // each waits until both have ended their update
    HostTensor gradient = block == 0 ? floats({1, 1, 1}) : floats({1, 1});
    fixture.store->update(block, {{gradient}}, [&](const std::string &) {
      if (--left == 0)
        done.set_value();
      while (left != 0)
        std::this_thread::yield();
    });
  }
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(BlockStore, GivesThePlanTheParameterAsItsWorkerHadIt) {
  Fixture fixture(/*backup=*/true);
  EXPECT_EQ(fixture.update(1, {{floats({0, 0})}, 1, floats({2, 6})}), "");
  EXPECT_EQ(fixture.parameter(1), (std::vector<float>{9, 7}));
}

TEST(BlockStore, RefusesValuesThatDoNotFit) {
  Fixture fixture;
  EXPECT_THAT([&] { fixture.store->set(1, BlockStore::kParameter, floats({1, 2, 3})); },
              ThrowsMessage<Error>(HasSubstr("argument \"w\" is float32[3], expected float32[2]")));
}

TEST(ApplyPlans, AreThoseOfTheManifest) {
  auto manifest = descentManifest({5, 3});
  ApplyPlans plans(*manifest, 0);
  EXPECT_EQ(plans.needed(), (std::vector<uint32_t>{0, 1}));
  EXPECT_THAT([&] { plans.set(0, descentPlan(2)); },
              ThrowsMessage<Error>(AllOf(HasSubstr("apply plan 0 has the hash"), HasSubstr("expected"))));
  EXPECT_FALSE(plans.isComplete());
  EXPECT_THAT([&] { ApplyPlans(*manifest, 1).set(0, descentPlan(3)); },
              ThrowsMessage<Error>("apply plan 0 is of no block of this server"));
}

TEST(ApplyPlans, FitTheirBlocks) {
  auto expectFault = [](const std::vector<uint8_t> &plan, const std::string &fault) {
    auto manifest = descentManifest({5, 3});
    Hash128 hash = hashBytes(plan);
    manifest->plans[0]->hash_low = hash.low, manifest->plans[0]->hash_high = hash.high;
    EXPECT_THAT([&] { ApplyPlans(*manifest, 0).set(0, plan); }, ThrowsMessage<Error>(HasSubstr(fault)));
  };
  expectFault(descentPlan(2),
              "takes float32[2] for its argument \"w\", expected float32[3] of block \"w.block0\"");
  expectFault(descentPlan(3, /*backup=*/true), "has 4 arguments, expected 3");
  TestPlan idle(1);
  idle.slot(SlotRole::state, "w", ElementType::f32, {3});
  idle.slot(SlotRole::state, "n", ElementType::i64, {1});
  idle.slot(SlotRole::batch, "g", ElementType::f32, {3});
  expectFault(serializePlan(*idle.finish()), "does not update its argument \"w\", which is the parameter");
  TestPlan two(2);
  two.slot(SlotRole::state, "w", ElementType::f32, {3});
  expectFault(serializePlan(*two.finish()), "is for 2 devices of kind \"cpu\", expected 1");
}

template <typename Float> void expectAverage(ElementType type) {
  const size_t count = 9001; // more than two chunks
  std::vector<std::vector<Float>> addends(3, std::vector<Float>(count));
  std::vector<Float> expected(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t worker = 0; worker < 3; ++worker)
      addends[worker][i] = Float(i % 97) + Float(worker);
    expected[i] = (addends[0][i] + addends[1][i] + addends[2][i]) * Float(1.0 / 3);
  }
  std::vector<const std::byte *> sources;
  for (const auto &each : addends)
    sources.push_back(reinterpret_cast<const std::byte *>(each.data()));
  addScaled(type, sources, 1.0 / 3, reinterpret_cast<std::byte *>(addends[0].data()), count);
  EXPECT_EQ(addends[0], expected);
}

TEST(Average, IsThatOfAPlainLoop) {
  expectAverage<float>(ElementType::f32);
  expectAverage<double>(ElementType::f64);
}

TEST(Average, OfNarrowFloatsIsRoundedTwice) {
  std::vector<_Float16> a{_Float16(2048), _Float16(3)}, b{_Float16(1), _Float16(4)};
  const std::byte *sources[] = {reinterpret_cast<std::byte *>(a.data()),
                                reinterpret_cast<std::byte *>(b.data())};
  addScaled(ElementType::f16, sources, 0.5, reinterpret_cast<std::byte *>(b.data()), 2);
  EXPECT_EQ(float(b[0]), 1024); // 2049 is rounded to 2048
  EXPECT_EQ(float(b[1]), 3.5);
}

TEST(Average, OfIntegersIsNone) {
  EXPECT_THAT([] { addScaled(ElementType::i32, {}, 1, nullptr, 0); },
              ThrowsMessage<Error>("gradients of type i32 have no average, expected floats"));
}

} // namespace
} // namespace epl::runtime::servers::test
