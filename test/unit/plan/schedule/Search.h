// Whether any schedule ends by some time, by looking at all of them.
//
// Problem: is a table's makespan the least that is possible, with what its meshes keep? Method: units take
// whole times, so a shortest schedule begins them at whole times. A state is what is done at such a time and
// what runs; from the states of a time all choices of all meshes, to idle among them, lead to those of the
// next. Equal states are one, and those that cannot end in time are dropped. It knows no tables and no
// simulator. F, I and W take a unit of time, B two.

#ifndef EPL_TEST_UNIT_PLAN_SCHEDULE_SEARCH_H
#define EPL_TEST_UNIT_PLAN_SCHEDULE_SEARCH_H

#include <cstdint>
#include <vector>

namespace epl::runtime::schedule::test {

struct Problem {
  std::vector<uint32_t> meshOfStage;
  std::vector<uint32_t> limits; // of each mesh: micro-batches of a stage that it may keep
  uint32_t microBatches;
  bool isSplit; // I and W instead of B
};

bool canEndBy(const Problem &problem, uint32_t time);

} // namespace epl::runtime::schedule::test

#endif // EPL_TEST_UNIT_PLAN_SCHEDULE_SEARCH_H
