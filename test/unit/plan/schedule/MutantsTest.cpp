// Tables that are changed: the check refuses them, or they are schedules all the same.

#include "Runs.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/schedule/Check.h"
#include "runtime/plan/schedule/Generators.h"
#include "runtime/plan/schedule/Text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace epl::runtime::schedule {
namespace {

using Lane = std::vector<Unit>;

/// All units of a table as text, in an order of their own.
std::string unitsOf(const Table &table) {
  Lane units;
  for (const Lane &lane : table)
    units.insert(units.end(), lane.begin(), lane.end());
  std::sort(units.begin(), units.end());
  return write({units});
}

class Mutator {
public:
  Mutator(const Shape &shape, uint64_t seed) : shape(shape), random(seed) {}

  static constexpr const char *changes[] = {"drop", "double", "swap", "rename", "move"};

  void change(Table &table, std::string_view name) {
    Lane &lane = table[below(table.size())];
    auto at = lane.begin() + below(lane.size()), other = lane.begin() + below(lane.size());
    if (name == "drop")
      lane.erase(at);
    else if (name == "double")
      lane.insert(other, Unit(*at));
    else if (name == "swap")
      std::iter_swap(at, other);
    else if (name == "rename")
      *at = randomUnit();
    else
      move(table, lane, at);
  }

  uint32_t below(size_t count) {
    return std::uniform_int_distribution<uint32_t>(0, uint32_t(count) - 1)(random);
  }

  Shape shape;
  std::mt19937_64 random;

private:
  /// One beyond what there is, too.
  Unit randomUnit() {
    return {below(shape.meshes * shape.stagesPerMesh + 1), static_cast<Kind>(below(numKinds)),
            below(shape.microBatches + 1)};
  }

  void move(Table &table, Lane &lane, Lane::iterator at) {
    Unit unit = *at;
    lane.erase(at);
    Lane &to = table[below(table.size())];
    to.insert(to.begin() + below(to.size() + 1), unit);
  }
};

bool isRefused(const Table &table, const Shape &shape) {
  try {
    check(table, shape.meshes * shape.stagesPerMesh, shape.microBatches);
    return false;
  } catch (const PlanError &) {
    return true;
  }
}

/// Mutants of a table by one kind of change. Those that pass must end with every unit done.
size_t countRefused(const Table &table, Mutator &mutator, const char *change, size_t count) {
  size_t refused = 0;
  for (size_t i = 0; i < count; ++i) {
    Table mutant = table;
    mutator.change(mutant, change);
    if (isRefused(mutant, mutator.shape)) {
      EXPECT_NE(mutant, table);
      ++refused;
      continue;
    }
    EXPECT_EQ(unitsOf(mutant), unitsOf(table)) << change;
    test::expectRunOf(mutant, {}, simulate(mutant));
  }
  return refused;
}

class ScheduleMutants : public testing::TestWithParam<const char *> {};

TEST_P(ScheduleMutants, AreRefusedOrSchedules) {
  size_t refused = 0, count = 0;
  for (const Generator &generator : getGenerators())
    for (uint32_t meshes = 1; meshes <= 4; ++meshes)
      for (uint32_t microBatches : {2 * meshes, 3 * meshes}) {
        Shape shape = {meshes, generator.hasSeveralStages ? 2u : 1u, microBatches};
        Mutator mutator(shape, meshes);
        refused += countRefused(generate(generator.name, shape), mutator, GetParam(), 20);
        count += 20;
      }
  bool isAlwaysWrong = GetParam() == std::string_view("drop") || GetParam() == std::string_view("double");
  EXPECT_GT(refused, count / 2);
  EXPECT_EQ(refused == count, isAlwaysWrong) << refused << " of " << count;
}

INSTANTIATE_TEST_SUITE_P(Changes, ScheduleMutants, testing::ValuesIn(Mutator::changes));

} // namespace
} // namespace epl::runtime::schedule
