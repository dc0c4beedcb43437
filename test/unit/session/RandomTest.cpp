// Random programs on many ranks against their serial meaning.
#include "Tensors.h"

#include <gtest/gtest.h>

#include <random>

namespace epl::runtime::test {
namespace {

using plan::ElementType;
using plan::SlotRole;

/// A random DAG over values of kCount elements on every rank. Each value has a buffer of its own; commands
/// sit on random lanes, so that only their waits order them.
class RandomProgram {
public:
  static constexpr int64_t kCount = 21;

  RandomProgram(uint32_t ranks, unsigned seed) : ranks(ranks), generator(seed), plan(ranks) {
    for (int extra = 0; extra < 3; ++extra)
      plan.lane(plan::LaneKind::compute);
    addValue("coordinate", plan.buffer(kCount * 8), {});
    for (int i = 0; i < 60; ++i)
      pick(4) == 0 ? addReduction() : addMix();
    uint32_t result = plan.slot(SlotRole::result, "last", ElementType::i64, {ranks, kCount}, {{"data"}});
    plan.copy(values.back().buffer, plan.slotBuffer(result), {after(values.back().command)}, 2);
  }

  std::shared_ptr<const plan::PlanT> finish() { return plan.finish(); }

  /// What the program means: all ranks' values of the last buffer, computed one command after another.
  std::vector<int64_t> expected() const {
    std::vector<int64_t> all;
    for (uint32_t rank = 0; rank < ranks; ++rank)
      all.insert(all.end(), kCount, int64_t(values.back().serial[rank]));
    return all;
  }

private:
  struct Value {
    uint32_t buffer, command;
    std::vector<uint64_t> serial; // of each rank; all elements of a value are equal
  };

  uint32_t pick(size_t size) { return uint32_t(generator() % size); }
  uint32_t pickLane() { return std::vector<uint32_t>{0, 2, 3, 4}[pick(4)]; }

  void addValue(const char *kernel, uint32_t buffer, std::vector<uint64_t> serial) {
    uint32_t command = plan.launch(kernel, kCount, {buffer}, {}, pickLane());
    for (uint32_t rank = 0; rank < ranks; ++rank)
      serial.push_back(rank);
    values.push_back({buffer, command, std::move(serial)});
  }

  void addMix() {
    const Value &a = values[pick(values.size())], &b = values[pick(values.size())];
    uint32_t buffer = plan.buffer(kCount * 8);
    uint32_t command = plan.launch("mix", kCount, {a.buffer, b.buffer, buffer},
                                   {after(a.command), after(b.command)}, pickLane());
    std::vector<uint64_t> serial;
    for (uint32_t rank = 0; rank < ranks; ++rank)
      serial.push_back(31 * a.serial[rank] + b.serial[rank]);
    values.push_back({buffer, command, std::move(serial)});
  }

  void addReduction() {
    const Value &a = values[pick(values.size())];
    uint32_t buffer = plan.buffer(kCount * 8);
    uint32_t command = plan.allReduce(plan::ReductionKind::sum, ElementType::i64, a.buffer, buffer, kCount,
                                      {afterMembers(a.command)});
    uint64_t sum = 0;
    for (uint64_t value : a.serial)
      sum += value;
    values.push_back({buffer, command, std::vector<uint64_t>(ranks, sum)});
  }

  uint32_t ranks;
  std::mt19937 generator;
  TestPlan plan;
  std::vector<Value> values;
};

class RandomTest : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomTest, MatchesSerialExecution) {
  Executor executor(GetParam()); // a worker for each rank, whatever the cores
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomProgram program(GetParam(), seed);
    auto plan = program.finish();
    Session session(plan, devices(GetParam()), executor);
    for (int repeat = 0; repeat < 5; ++repeat)
      ASSERT_EQ(elements<int64_t>(session.call({}, {}, "random").results[0]), program.expected())
          << "seed " << seed << ", call " << repeat;
  }
}

TEST_P(RandomTest, MatchesOnFewerWorkersThanRanks) {
  Executor executor(2);
  for (unsigned seed = 100; seed < 110; ++seed) {
    RandomProgram program(GetParam(), seed);
    Session session(program.finish(), devices(GetParam()), executor);
    ASSERT_EQ(elements<int64_t>(session.call({}, {}, "random").results[0]), program.expected())
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RandomTest, testing::Range(1u, 9u));

} // namespace
} // namespace epl::runtime::test
