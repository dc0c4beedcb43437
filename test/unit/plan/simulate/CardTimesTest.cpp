// What commands take on a card of round numbers, by hand.

#include "runtime/plan/simulate/CardTimes.h"

#include "runtime/plan/build/Builder.h"
#include "runtime/plan/model/Mesh.h"
#include "test/unit/plan/AttentionPlans.h"

#include <gtest/gtest.h>

namespace epl::runtime {
namespace {

/// A multiply-add of f32 a nanosecond, of f16 ten, a byte a nanosecond of memory, a fourth of one between
/// cards, an eighth from and to the host.
machine::Machine card() {
  machine::Machine machine;
  machine.kind = "h100";
  machine.compute = {1'000'000'000, 1'000'000'000, 10'000'000'000};
  machine.memory = {1 << 30, 1'000'000'000, 100};
  machine.withinProcess = {250'000'000, 70};
  machine.betweenProcesses = {125'000'000, 90};
  machine.gpu = {.architecture = 90,
                 .multiprocessors = 4,
                 .clockHz = 1'000'000'000,
                 .sharedBytes = 1 << 10,
                 .launchNs = 5,
                 .hostBytesPerSecond = 125'000'000};
  return machine;
}

/// A step on cards.
class Step : public Builder {
public:
  explicit Step(std::string layout, uint32_t devices) : Builder("cuda"), layout(std::move(layout)) {
    addAxis("data", devices);
    members = addCommunicator({"data"});
  }

  /// The buffer of an argument.
  uint32_t input(uint64_t bytes) { return size(slotBuffer(slot(plan::SlotRole::constant, bytes)), bytes); }
  uint32_t state(uint64_t bytes) { return size(slotBuffer(slot(plan::SlotRole::state, bytes)), bytes); }
  uint32_t output(uint64_t bytes) {
    return size(addBuffer("y" + std::to_string(sizes.size()), bytes), bytes);
  }
  /// The buffer of a result, which no other one shares memory with.
  uint32_t result(uint64_t bytes) {
    uint32_t buffer = output(bytes);
    setResult(slot(plan::SlotRole::result, bytes), buffer);
    return buffer;
  }
  void run(std::vector<uint32_t> buffers, int64_t flops, uint32_t blocks, const std::string &symbol = "k",
           uint32_t phases = 1) {
    plan::KernelT kernel;
    kernel.name = kernel.symbol = symbol;
    kernel.form = "flat";
    kernel.num_inputs = uint32_t(buffers.size() - 1), kernel.num_outputs = 1;
    kernel.in_place = {-1};
    kernel.flops = flops, kernel.extent = 1;
    for (uint32_t phase = 0; phase < phases; ++phase) {
      kernel.grids.push_back(std::make_unique<plan::GridT>());
      kernel.grids.back()->blocks = blocks, kernel.grids.back()->threads = 32;
      kernel.grids.back()->extent = kernel.grids.back()->slice = kernel.grids.back()->group = 1;
    }
    for (uint32_t buffer : buffers)
      kernel.operand_sizes.push_back(sizes.at(buffer));
    launch({symbol, "", ""}, addKernel(std::move(kernel)), buffers);
  }
  void multiply(plan::ElementType type, int64_t extent, int64_t columnsApart = 0) {
    plan::ContractT contract;
    contract.type = type;
    contract.m = contract.n = contract.k = extent;
    contract.ldb = contract.ldc = extent;
    contract.lda = std::max(columnsApart, extent);
    uint64_t bytes = uint64_t(extent) * extent * elementBytes(type);
    contract.a = input(uint64_t(extent) * contract.lda * elementBytes(type));
    contract.b = input(bytes), contract.c = output(bytes);
    Builder::contract({"product", "", ""}, contract);
  }
  /// Of one head: products of `extent` in bf16, with a softmax between them.
  void attend(int64_t extent) {
    uint64_t elements = uint64_t(extent) * uint64_t(extent);
    plan::ContractT scores, product;
    scores.type = product.type = plan::ElementType::bf16;
    for (plan::ContractT *each : {&scores, &product})
      each->m = each->n = each->k = each->lda = each->ldb = each->ldc = extent;
    scores.widens = scores.transpose_b = true;
    scores.a = input(elements * 2), scores.b = input(elements * 2), scores.c = output(elements * 4);
    product.attention = std::make_unique<plan::AttentionT>();
    product.attention->scores = nextCommand();
    Builder::contract({"scores", "", ""}, scores);
    product.a = output(elements * 2);
    product.attention->softmax = nextCommand();
    run({scores.c, product.a}, 5 * int64_t(elements), 1, "softmax");
    product.b = input(elements * 2), product.c = output(elements * 2);
    Builder::contract({"product", "", ""}, std::move(product));
  }
  void sum(int64_t elements) {
    plan::ReducePartT reduce;
    reduce.communicator = members;
    plan::ReducedTensorT &tensor = reduce.tensors.emplace_back();
    tensor.type = plan::ElementType::f32;
    tensor.source = input(uint64_t(elements) * 4), tensor.target = output(uint64_t(elements) * 4);
    tensor.count = elements;
    allReduce({"sum", "", ""}, std::move(reduce));
  }

  std::vector<CommandTime> times(Enqueued enqueued = Enqueued::asGraph) {
    plan::PlanT plan = finish();
    plan.layout = layout;
    return timesOnCards(plan, card(), enqueued).front();
  }

private:
  uint32_t slot(plan::SlotRole role, uint64_t bytes) {
    plan::SlotT slot;
    slot.name = "slot " + std::to_string(sizes.size());
    slot.role = role;
    slot.type = plan::ElementType::i8;
    slot.shape = {int64_t(bytes)};
    slot.sharding.push_back(std::make_unique<plan::DimShardingT>());
    return addSlot(std::move(slot));
  }
  uint32_t size(uint32_t buffer, uint64_t bytes) {
    sizes[buffer] = bytes;
    return buffer;
  }

  std::string layout;
  uint32_t members = 0;
  std::map<uint32_t, uint64_t> sizes; // of buffers
};

void expect(const CommandTime &time, double nanoseconds, Limit limit) {
  EXPECT_NEAR(time.nanoseconds, nanoseconds, 1e-6);
  EXPECT_STREQ(limitName(time.limit), limitName(limit));
}

/// 2048 bytes in, as many out. Threads have 32 bytes on their way: 32 blocks of 32 have 32768 in the latency
/// of 100 ns, one block has 1024.
TEST(CardTimes, OfKernelsThatMemoryBounds) {
  Step step("cuda:0 = data 1", 1);
  step.run({step.input(2048), step.output(2048)}, 8, 32, "many");
  step.run({step.input(2048), step.output(2048)}, 8, 1, "few");
  step.run({step.input(2048), step.output(2048)}, 8, 4, "phases", 3);
  std::vector<CommandTime> times = step.times();
  expect(times[0], 5 + 4096, Limit::memory);
  expect(times[1], 5 + 4096, Limit::memory);
  expect(times[2], 3 * 5 + 4096, Limit::memory);
}

TEST(CardTimes, OfKernelsOfFewThreads) {
  Step step("cuda:0 = data 1", 1);
  step.run({step.input(2048), step.output(2048)}, 8, 1);
  plan::PlanT plan = step.finish();
  machine::Machine slow = card();
  slow.memory.latencyNs = 2000; // 1024 bytes in that time
  expect(timesOnCards(plan, slow, Enqueued::asGraph)[0][0], 5 + 4 * 2000, Limit::parallelism);
}

TEST(CardTimes, OfArithmetic) {
  Step step("cuda:0 = data 1", 1);
  step.run({step.input(64), step.output(64)}, 20'000, 32, "kernel");
  step.multiply(plan::ElementType::f32, 64);
  step.multiply(plan::ElementType::bf16, 64);
  std::vector<CommandTime> times = step.times();
  expect(times[0], 5 + 10'000, Limit::compute);
  expect(times[1], 5 + 64 * 64 * 64, Limit::compute);
  expect(times[2], 5 + 64 * 64 * 64 / 10.0, Limit::compute);
}

/// Nothing of what is between its products counts, where that takes longer than they do.
TEST(CardTimes, OfAttention) {
  Step step("cuda:0 = data 1", 1);
  step.attend(64);
  step.attend(16);
  std::vector<CommandTime> times = step.times();
  for (size_t part : {0, 1, 3, 4})
    EXPECT_EQ(times[part].nanoseconds, 0);
  expect(times[2], 5 + 2 * 64 * 64 * 64 / 10.0, Limit::compute);
  expect(times[5], 5 + 4 * 16 * 16 * 2, Limit::memory);
}

/// Its gradient is five products, and the others of it nothing.
TEST(CardTimes, OfTheGradientOfAttention) {
  plan::PlanT plan = test::gradientPlan();
  std::vector<CommandTime> times = timesOnCards(plan, card(), Enqueued::asGraph).front();
  for (size_t part : {0, 1, 3, 4, 5, 6, 7})
    EXPECT_EQ(times[part].nanoseconds, 0);
  constexpr int64_t pairs = test::kB * test::kH * test::kQ * test::kK, row = test::kH * test::kD * 2;
  // q, o, dO and dq; k, v, dk and dv; a float for each query.
  constexpr int64_t bytes =
      4 * test::kB * test::kQ * row + 4 * test::kB * test::kK * row + pairs / test::kK * 4;
  expect(times[8], 5 + bytes, Limit::memory);
  EXPECT_DOUBLE_EQ(times[8].compute, 5 * pairs * test::kD / 10.0);
}

/// Of 4 rows of 16 bytes that lie 64 bytes apart each is half of a sector; neighbours share them.
TEST(CardTimes, CountSectors) {
  Step step("cuda:0 = data 1", 1);
  step.multiply(plan::ElementType::f32, 4, 16);
  expect(step.times()[0], 5 + (4 * 32 + 64 + 64), Limit::memory);
}

/// Of 4 members that have cards, each gets 3/4 of 1600 bytes for its sum, and 3/4 of the sums: one call.
TEST(CardTimes, OfAnAllReduceBetweenCards) {
  Step step("cuda:0-3 = data 4", 4);
  step.sum(400);
  std::vector<CommandTime> times = step.times();
  expect(times[0], 5 + 70 + 2 * 1200 / 0.25, Limit::link);
  expect(times[1], 0, Limit::launch);
}

TEST(CardTimes, OfProcessesAreThoseOfTheirLink) {
  Step step("cuda:4* = data 4", 4);
  step.sum(400);
  expect(step.times()[0], 5 + 90 + 2 * 1200 / 0.125, Limit::link);
}

/// Virtual devices of one card share its memory, and need no link.
TEST(CardTimes, OfVirtualDevices) {
  Step step("cuda:0x4 = data 4", 4);
  step.sum(400);
  std::vector<CommandTime> times = step.times();
  expect(times[0], 5 + 4 * (1600 + 400), Limit::memory);
  expect(times[1], 5 + 4 * 2 * 1200, Limit::memory);
}

TEST(CardTimes, OfLaunchesThatAreOneInAGraph) {
  for (Enqueued enqueued : {Enqueued::asGraph, Enqueued::oneByOne}) {
    Step step("cuda:0 = data 1", 1);
    uint32_t inputs[] = {step.input(32), step.input(32), step.input(32)}; // arguments before results
    for (int i = 0; i < 3; ++i)
      step.run({inputs[i], step.result(32)}, 0, 32, "update");
    double launches = 0;
    for (const CommandTime &time : step.times(enqueued))
      launches += time.launch;
    EXPECT_EQ(launches, enqueued == Enqueued::asGraph ? 5 : 15);
  }
}

TEST(CardTimes, OfStatesInTheHost) {
  Step step("cuda:0x2 = data 2", 2);
  step.setOffload(true);
  uint32_t w = step.state(1024);
  step.run({w, step.result(1024)}, 0, 32);
  std::vector<CommandTime> times = step.times();
  expect(times[0], 5 + 2 * 8 * 1024, Limit::link); // two devices share what connects their card
}

TEST(CardTimes, OfWhatTakesLongerToBegin) {
  Step step("cuda:0 = data 1", 1);
  step.multiply(plan::ElementType::f32, 1);
  plan::PlanT plan = step.finish();
  machine::Machine slow = card();
  slow.gpu.launchNs = 1000;
  expect(timesOnCards(plan, slow, Enqueued::asGraph)[0][0], 1000 + 3 * 32, Limit::launch);
}

} // namespace
} // namespace epl::runtime
