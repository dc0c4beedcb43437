// An all-reduce (sum of f32, in place) between two devices of a process, beside memcpy of as many bytes.
//
//   all_reduce BYTES ROUNDS RUNS     RUNS: all-reduces in a round, made a multiple of those in a step
#include "../Report.h"
#include "TestPlan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace epl::benchmark {
namespace {

/// The plan makes so many all-reduces in a step.
Run ours(size_t bytes, uint32_t repetitions) {
  using namespace runtime::test;
  using namespace runtime::plan;
  int64_t count = int64_t(bytes / sizeof(float));
  TestPlan plan(2);
  uint32_t slot = plan.slot(SlotRole::state, "x", ElementType::f32, {count});
  uint32_t buffer = plan.slotBuffer(slot);
  plan.slot(SlotRole::result, "x", ElementType::f32, {count}, {}, int32_t(slot));
  std::vector<Wait> waits;
  for (uint32_t i = 0; i < repetitions; ++i)
    waits = {
        afterMembers(plan.allReduce(ReductionKind::sum, ElementType::f32, buffer, buffer, count, waits))};
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
  if (argc != 4)
    return 2;
  size_t bytes = std::strtoull(argv[1], nullptr, 10);
  // So many in a step that its start and end do not count.
  uint32_t repetitions = uint32_t(std::clamp<size_t>((size_t(16) << 20) / bytes, 1, 256));
  uint32_t runs = (uint32_t(std::atoi(argv[3])) + repetitions - 1) / repetitions * repetitions;
  std::vector<Contender> contenders = {{"ours", ours(bytes, repetitions)}, {"memcpy", copy(bytes)}};
  interleave(contenders, uint32_t(std::atoi(argv[2])), runs);
  report(argv[1], contenders);
}
