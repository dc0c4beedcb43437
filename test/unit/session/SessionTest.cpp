#include "Tensors.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

#include <numeric>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr uint32_t kRankCounts[] = {1, 2, 3, 4, 8};

/// Sum of a batch that is split on dimension 0, as every rank's partial sums reduced over all.
TEST(Session, ReducesABatchOverAllRanks) {
  for (uint32_t ranks : kRankCounts)
    for (int64_t count : {1, 2, 7, 16, 37, 1000}) {
      TestPlan plan(ranks);
      uint32_t x = plan.slot(SlotRole::batch, "x", ElementType::i64, {ranks, count}, {{"data"}});
      uint32_t sum = plan.slot(SlotRole::result, "sum", ElementType::i64, {count});
      uint32_t local = plan.slotBuffer(x), result = plan.slotBuffer(sum);
      plan.allReduce(plan::ReductionKind::sum, ElementType::i64, local, result, count, {});
      Session session(plan.finish(), devices(ranks));
      std::vector<int64_t> values(ranks * count), expected(count);
      std::iota(values.begin(), values.end(), 0);
      for (size_t i = 0; i < values.size(); ++i)
        expected[i % count] += values[i];
      for (int repeat = 0; repeat < 4; ++repeat) {
        bool waits = repeat % 2 == 1; // and runs a slice
        Outcome outcome =
            session.call({tensor(ElementType::i64, {ranks, count}, values)}, {false}, "sum", waits);
        EXPECT_EQ(elements<int64_t>(outcome.results[0]), expected) << ranks << " ranks";
      }
    }
}

/// Elements of any type, all bits of them small, so that no sum overflows or rounds.
TEST(Session, ReducesAndGathersEveryType) {
  for (ElementType type : plan::EnumValuesElementType())
    for (uint32_t ranks : kRankCounts) {
      int64_t count = 5, size = int64_t(elementBytes(type));
      bool isBoolean = type == ElementType::i1;
      TestPlan plan(ranks);
      uint32_t x = plan.slotBuffer(plan.slot(SlotRole::batch, "x", type, {ranks, count}, {{"data"}}));
      uint32_t best = plan.slotBuffer(plan.slot(SlotRole::result, "best", type, {count}));
      uint32_t whole = plan.slotBuffer(plan.slot(SlotRole::result, "whole", type, {ranks, count}));
      plan.allReduce(isBoolean ? plan::ReductionKind::any : plan::ReductionKind::max, type, x, best, count,
                     {});
      plan.allGather(type, x, whole, 1, count, {});
      Session session(plan.finish(), devices(ranks));
      // The value 0 everywhere but for one rank, whose bytes 1 are a positive number of every type.
      HostTensor values = HostTensor::allocate({type, {ranks, count}});
      std::fill_n(values.data + (ranks - 1) * count * size, count * size, std::byte(1));
      Outcome outcome = session.call({values}, {false}, "step");
      EXPECT_THAT(elements<uint8_t>(outcome.results[0]), Each(1))
          << elementName(type) << ", " << ranks << " ranks";
      EXPECT_EQ(elements<uint8_t>(outcome.results[1]), elements<uint8_t>(values));
    }
}

/// Tensors of several types and odd sizes by one command: what each has alone, whatever the others are.
TEST(Session, ReducesSeveralTensorsAtOnce) {
  for (uint32_t ranks : kRankCounts)
    for (int64_t count : {0, 1, 15, 17, 37, 1000}) {
      TestPlan plan(ranks);
      auto batch = [&](const char *name, ElementType type, int64_t count) {
        return plan.slotBuffer(plan.slot(SlotRole::batch, name, type, {ranks, count}, {{"data"}}));
      };
      auto result = [&](const char *name, ElementType type, int64_t count) {
        return plan.slotBuffer(plan.slot(SlotRole::result, name, type, {count}));
      };
      uint32_t x = batch("x", ElementType::i64, count), y = batch("y", ElementType::f32, 1),
               z = batch("z", ElementType::i16, 3 * count);
      plan.allReduce(plan::ReductionKind::sum,
                     {{ElementType::i64, x, result("x sum", ElementType::i64, count), count},
                      {ElementType::f32, y, result("y sum", ElementType::f32, 1), 1},
                      {ElementType::i16, z, result("z sum", ElementType::i16, 3 * count), 3 * count}},
                     {});
      Session session(plan.finish(), devices(ranks));
      std::vector<int64_t> wide(ranks * count), wideSum(count);
      std::vector<int16_t> narrow(3 * ranks * count), narrowSum(3 * count);
      std::vector<float> one(ranks);
      std::iota(wide.begin(), wide.end(), 0);
      std::iota(narrow.begin(), narrow.end(), int16_t(0));
      std::iota(one.begin(), one.end(), 1.0F);
      for (size_t i = 0; i < wide.size(); ++i)
        wideSum[i % size_t(count)] += wide[i];
      for (size_t i = 0; i < narrow.size(); ++i)
        narrowSum[i % size_t(3 * count)] += narrow[i];
      Outcome outcome = session.call({tensor(ElementType::i64, {ranks, count}, wide),
                                      tensor(ElementType::f32, {ranks, 1}, one),
                                      tensor(ElementType::i16, {ranks, 3 * count}, narrow)},
                                     {false, false, false}, "sums");
      EXPECT_EQ(elements<int64_t>(outcome.results[0]), wideSum) << ranks << " ranks";
      EXPECT_EQ(elements<float>(outcome.results[1]), std::vector<float>{float(ranks * (ranks + 1)) / 2});
      EXPECT_EQ(elements<int16_t>(outcome.results[2]), narrowSum) << ranks << " ranks";
    }
}

TEST(Session, GathersAndShardsResults) {
  for (uint32_t ranks : kRankCounts) {
    TestPlan plan(ranks);
    // Dimension 1 is split: the host's tensor is strided for every rank, coming in and going out.
    uint32_t x = plan.slot(SlotRole::batch, "x", ElementType::i64, {3, 2 * ranks}, {{}, {"data"}});
    uint32_t same = plan.slot(SlotRole::result, "same", ElementType::i64, {3, 2 * ranks}, {{}, {"data"}});
    uint32_t whole = plan.slot(SlotRole::result, "whole", ElementType::i64, {3, 2 * ranks});
    uint32_t rank = plan.slot(SlotRole::result, "rank", ElementType::i64, {ranks}, {{"data"}});
    uint32_t local = plan.slotBuffer(x);
    plan.copy(local, plan.slotBuffer(same));
    plan.allGather(ElementType::i64, local, plan.slotBuffer(whole), 3, 2, {});
    plan.launch("coordinate", 1, {plan.slotBuffer(rank)});
    Session session(plan.finish(), devices(ranks));
    std::vector<int64_t> values(6 * ranks), numbers(ranks);
    std::iota(values.begin(), values.end(), 100);
    std::iota(numbers.begin(), numbers.end(), 0);
    Outcome outcome = session.call({tensor(ElementType::i64, {3, 2 * ranks}, values)}, {false}, "gather");
    EXPECT_EQ(elements<int64_t>(outcome.results[0]), values);
    EXPECT_EQ(elements<int64_t>(outcome.results[1]), values);
    EXPECT_EQ(elements<int64_t>(outcome.results[2]), numbers);
  }
}

TEST(Session, CopiesParts) {
  TestPlan plan(1);
  uint32_t x = plan.slot(SlotRole::constant, "x", ElementType::i64, {6});
  uint32_t turned = plan.slot(SlotRole::result, "turned", ElementType::i64, {6});
  uint32_t source = plan.slotBuffer(x), target = plan.slotBuffer(turned);
  for (uint64_t from : {0, 32}) {
    plan::CopyT part;
    part.from = from, part.to = from == 0 ? 16 : 0, part.size = from == 0 ? 32 : 16;
    plan.copy(source, target, {}, 0, part);
  }
  Session session(plan.finish(), "cpu:1");
  Outcome outcome = session.call({integers({1, 2, 3, 4, 5, 6})}, {false}, "copy");
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), (std::vector<int64_t>{5, 6, 1, 2, 3, 4}));
}

TEST(Session, ReducesAlongEachAxisOfAMesh) {
  TestPlan plan({{"data", 2}, {"model", 3}});
  uint32_t x = plan.slot(SlotRole::constant, "x", ElementType::i64, {2, 3}, {{"data"}, {"model"}});
  uint32_t overModel = plan.slot(SlotRole::result, "rows", ElementType::i64, {2}, {{"data"}});
  uint32_t overData = plan.slot(SlotRole::result, "columns", ElementType::i64, {3}, {{"model"}});
  uint32_t local = plan.slotBuffer(x);
  plan.allReduce(plan::ReductionKind::sum, ElementType::i64, local, plan.slotBuffer(overModel), 1, {}, 1);
  plan.allReduce(plan::ReductionKind::max, ElementType::i64, local, plan.slotBuffer(overData), 1, {}, 0);
  Session session(plan.finish(), "cpu:6");
  HostTensor values = tensor<int64_t>(ElementType::i64, {2, 3}, {1, 2, 3, 10, 20, 30});
  Outcome outcome = session.call({values}, {false}, "reduce");
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), (std::vector<int64_t>{6, 60}));
  EXPECT_EQ(elements<int64_t>(outcome.results[1]), (std::vector<int64_t>{10, 20, 30}));
}

TEST(Session, MultipliesMatrices) {
  TestPlan plan(2);
  uint32_t a = plan.slot(SlotRole::batch, "a", ElementType::f32, {4, 3}, {{"data"}});
  uint32_t b = plan.slot(SlotRole::constant, "b", ElementType::f32, {3, 2});
  uint32_t c = plan.slot(SlotRole::result, "c", ElementType::f32, {4, 2}, {{"data"}});
  plan::ContractT contract;
  contract.type = ElementType::f32;
  contract.a = plan.slotBuffer(a);
  contract.b = plan.slotBuffer(b);
  contract.c = plan.slotBuffer(c);
  contract.m = 2;
  contract.n = 2;
  contract.k = 3;
  contract.lda = 3;
  contract.ldb = contract.ldc = 2;
  plan.command("matmul", std::move(contract), {});
  Session session(plan.finish(), "cpu:2");
  Outcome outcome =
      session.call({tensor<float>(ElementType::f32, {4, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}),
                    tensor<float>(ElementType::f32, {3, 2}, {1, 2, 3, 4, 5, 6})},
                   {false, false}, "matmul");
  EXPECT_EQ(elements<float>(outcome.results[0]), (std::vector<float>{1, 2, 3, 4, 5, 6, 9, 12}));
}

TEST(Session, FlushesDenormals) {
  TestPlan plan(1);
  uint32_t x = plan.slot(SlotRole::constant, "x", ElementType::f32, {2});
  uint32_t y = plan.slot(SlotRole::result, "y", ElementType::f32, {2});
  uint32_t buffer = plan.slotBuffer(x);
  plan.launch("multiply_f32", 2, {buffer, buffer, plan.slotBuffer(y)});
  Session session(plan.finish(), "cpu:1");
  Outcome outcome = session.call({tensor<float>(ElementType::f32, {2}, {1e-20f, 1e-40f})}, {false}, "square");
  EXPECT_THAT(elements<float>(outcome.results[0]), Each(0.0f));
}

TEST(Session, RunsAPlanWithoutCommands) {
  TestPlan plan(3);
  plan.slot(SlotRole::state, "w", ElementType::i64, {2});
  plan.slot(SlotRole::result, "w", ElementType::i64, {2}, {}, 0);
  Session session(plan.finish(), "cpu:3");
  Outcome outcome = session.call({integers({4, 5})}, {false}, "nothing");
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), (std::vector<int64_t>{4, 5}));
}

/// The memory that a plan works in, and how many threads run it, make no difference to what it computes.
TEST(Session, GivesMemoryBackAndRunsOnFewThreads) {
  for (uint32_t threads : {0, 1, 2, 100}) {
    TestPlan plan(4);
    uint32_t x = plan.slotBuffer(plan.slot(SlotRole::batch, "x", ElementType::i64, {4}, {{"data"}}));
    uint32_t sum = plan.slotBuffer(plan.slot(SlotRole::result, "sum", ElementType::i64, {1}));
    uint32_t between = plan.buffer(8); // in the arena
    uint32_t first = plan.allReduce(plan::ReductionKind::sum, ElementType::i64, x, between, 1, {});
    plan.allReduce(plan::ReductionKind::sum, ElementType::i64, between, sum, 1, {afterMembers(first)});
    Session session(plan.finish(), devices(4), Executor::shared(), nullptr, false, threads);
    for (int repeat = 0; repeat < 3; ++repeat) {
      Outcome outcome = session.call({tensor(ElementType::i64, {4}, std::vector<int64_t>{1, 2, 3, 4})},
                                     {false}, "sum", repeat == 1);
      session.release(); // waits for the call
      EXPECT_EQ(elements<int64_t>(outcome.results[0]), std::vector<int64_t>{40});
      session.release();
    }
  }
}

TEST(Session, RunsMoreDevicesThanCores) {
  TestPlan plan(64);
  uint32_t rank = plan.slot(SlotRole::result, "sum", ElementType::i64, {1});
  uint32_t local = plan.buffer(8);
  uint32_t start = plan.launch("coordinate", 1, {local});
  plan.allReduce(plan::ReductionKind::sum, ElementType::i64, local, plan.slotBuffer(rank), 1,
                 {afterMembers(start)});
  Session session(plan.finish(), "cpu:64");
  for (int repeat = 0; repeat < 20; ++repeat)
    EXPECT_EQ(elements<int64_t>(session.call({}, {}, "sum").results[0]), std::vector<int64_t>{64 * 63 / 2});
}

TEST(Session, ChecksEveryArgument) {
  TestPlan plan(1);
  plan.slot(SlotRole::batch, "x", ElementType::f32, {32, 10});
  Session session(plan.finish(), "cpu:1");
  EXPECT_THAT([&] { session.call({}, {}, "step"); }, ThrowsMessage<Error>(HasSubstr("found 0 arguments")));
  auto pass = [&](ElementType type, std::vector<int64_t> shape) {
    session.call({HostTensor::allocate({type, shape})}, {false}, "step");
  };
  EXPECT_THAT([&] { pass(ElementType::f32, {31, 10}); },
              ThrowsMessage<Error>("argument \"x\" is float32[31,10], expected float32[32,10]"));
  EXPECT_THAT([&] { pass(ElementType::f64, {32, 10}); },
              ThrowsMessage<Error>("argument \"x\" is float64[32,10], expected float32[32,10]"));
  EXPECT_NO_THROW(pass(ElementType::f32, {32, 10}));
}

TEST(Session, KeepsArgumentsUntilTheCallHasEnded) {
  TestPlan plan(1);
  plan.slot(SlotRole::constant, "gate", ElementType::i64, {1});
  plan.launch("wait_at_gate", 1, {plan.slotBuffer(0)});
  Session session(plan.finish(), "cpu:1");
  HostTensor gate = integers({0});
  std::weak_ptr<const void> owner = gate.owner;
  auto *flag = reinterpret_cast<std::atomic<int64_t> *>(gate.data);
  std::shared_ptr<Call> call = session.call({std::move(gate)}, {false}, "wait").call;
  gate = HostTensor{};
  EXPECT_FALSE(call->done());
  EXPECT_FALSE(owner.expired());
  flag->store(1);
  session.synchronize();
  EXPECT_TRUE(call->done());
  EXPECT_TRUE(owner.expired());
}

TEST(Session, CallsRunInOrder) {
  TestPlan plan(4);
  plan.slot(SlotRole::state, "n", ElementType::i64, {1});
  plan.slot(SlotRole::result, "n", ElementType::i64, {1}, {}, 0);
  uint32_t n = plan.slotBuffer(0);
  plan.launch("increment", 1, {n, n});
  Session session(plan.finish(), "cpu:4");
  Outcome outcome = session.call({integers({0})}, {false}, "count");
  for (int repeat = 0; repeat < 500; ++repeat)
    outcome = session.call({std::get<std::shared_ptr<StateBuffer>>(outcome.results[0])}, {true}, "count");
  EXPECT_EQ(elements<int64_t>(outcome.results[0]), std::vector<int64_t>{501});
  EXPECT_EQ(outcome.call->index(), 501u);
}

} // namespace
} // namespace epl::runtime::test
