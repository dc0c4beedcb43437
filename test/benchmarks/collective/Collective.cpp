// Collectives of f32 between two devices of a process, beside memcpy of as many bytes as a member has: an
// all-reduce in place, a reduce-scatter of sums, an all-to-all.
//
//   collective KIND BYTES ROUNDS RUNS     KIND: all_reduce, reduce_scatter, all_to_all
//                                         RUNS: so many in a round, made a multiple of those in a step
#include "../Report.h"
#include "test/unit/session/Tensors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

namespace epl::benchmark {
namespace {

using namespace runtime::test;
using namespace runtime::plan;

std::vector<std::unique_ptr<DimShardingT>> splitBy(std::vector<std::vector<std::string>> axes) {
  std::vector<std::unique_ptr<DimShardingT>> dims;
  for (auto &dim : axes) {
    dims.push_back(std::make_unique<DimShardingT>());
    dims.back()->axes = std::move(dim);
  }
  return dims;
}

/// One collective of `count` elements on each member, which begins when the one before has ended on both.
using Collective = uint32_t (*)(TestPlan &plan, uint32_t source, uint32_t target, int64_t count,
                                std::vector<Wait> waits);

uint32_t allReduce(TestPlan &plan, uint32_t source, uint32_t, int64_t count, std::vector<Wait> waits) {
  return plan.allReduce(ReductionKind::sum, ElementType::f32, source, source, count, std::move(waits));
}

uint32_t reduceScatter(TestPlan &plan, uint32_t source, uint32_t target, int64_t count,
                       std::vector<Wait> waits) {
  ReduceBlocksT reduce;
  ReducedBlocksT &tensor = reduce.tensors.emplace_back();
  tensor.type = ElementType::f32;
  tensor.source = source;
  tensor.target = target;
  tensor.shape = {count};
  tensor.sharding = splitBy({{"data"}});
  return plan.command("reduce_scatter", std::move(reduce), std::move(waits), 1);
}

/// Rows, one of each member, to columns.
uint32_t allToAll(TestPlan &plan, uint32_t source, uint32_t target, int64_t count, std::vector<Wait> waits) {
  ExchangeBlocksT exchange;
  exchange.type = ElementType::f32;
  exchange.source = source;
  exchange.target = target;
  exchange.shape = {2, count};
  exchange.from = splitBy({{"data"}, {}});
  exchange.to = splitBy({{}, {"data"}});
  return plan.command("all_to_all", std::move(exchange), std::move(waits), 1);
}

const std::map<std::string, Collective> collectives = {
    {"all_reduce", allReduce}, {"reduce_scatter", reduceScatter}, {"all_to_all", allToAll}};

/// The plan makes so many in a step.
Run ours(Collective collective, size_t bytes, uint32_t repetitions) {
  int64_t count = int64_t(bytes / sizeof(float));
  TestPlan plan(2);
  uint32_t slot = plan.slot(SlotRole::state, "x", ElementType::f32, {count});
  uint32_t source = plan.slotBuffer(slot), target = plan.buffer(bytes);
  plan.slot(SlotRole::result, "x", ElementType::f32, {count}, {}, int32_t(slot));
  std::vector<Wait> waits;
  for (uint32_t i = 0; i < repetitions; ++i)
    waits = {afterMembers(collective(plan, source, target, count, waits))};
  auto session = std::make_shared<runtime::Session>(plan.finish(), devices(2));
  auto state =
      session->state(slot, tensor<float>(ElementType::f32, {count}, std::vector<float>(size_t(count))));
  return [session, state, repetitions](uint32_t times) mutable {
    for (uint32_t i = 0; i < times; i += repetitions)
      state = std::get<0>(session->call({state}, {true}, "step").results[0]);
    session->lastCall()->wait();
  };
}

Run copy(size_t bytes) {
  auto from = std::make_shared<std::vector<char>>(bytes, 1),
       to = std::make_shared<std::vector<char>>(bytes, 2);
  return [from, to, bytes](uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) {
      std::memcpy(to->data(), from->data(), bytes);
      asm volatile("" : : "r"(to->data()) : "memory"); // somebody may read what was copied
    }
  };
}

} // namespace
} // namespace epl::benchmark

int main(int argc, char **argv) {
  using namespace epl::benchmark;
  auto kind = argc == 5 ? collectives.find(argv[1]) : collectives.end();
  if (kind == collectives.end())
    return 2;
  size_t bytes = std::strtoull(argv[2], nullptr, 10);
  // So many in a step that its start and end do not count.
  uint32_t repetitions = uint32_t(std::clamp<size_t>((size_t(16) << 20) / bytes, 1, 256));
  uint32_t runs = (uint32_t(std::atoi(argv[4])) + repetitions - 1) / repetitions * repetitions;
  std::vector<Contender> contenders = {{"ours", ours(kind->second, bytes, repetitions)},
                                       {"memcpy", copy(bytes)}};
  interleave(contenders, uint32_t(std::atoi(argv[3])), runs);
  report(argv[2], contenders);
}
