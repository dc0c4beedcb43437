// Generators by name and shape: what they make is a schedule, and numbers that they cannot have are errors.

#include "runtime/plan/schedule/Generators.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/schedule/Check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::schedule {
namespace {

std::string errorOf(std::string_view name, const Shape &shape) {
  try {
    generate(name, shape);
  } catch (const PlanError &error) {
    return error.what();
  }
  return "";
}

TEST(ScheduleGenerators, MakeSchedules) {
  for (const Generator &generator : getGenerators())
    for (uint32_t meshes = 1; meshes <= 8; ++meshes)
      for (uint32_t microBatches = 1; microBatches <= 32; ++microBatches) {
        uint32_t stages = generator.hasSeveralStages ? 3 : 1;
        if (generator.hasSeveralStages && microBatches % meshes != 0)
          continue;
        Table table = generate(generator.name, {meshes, stages, microBatches});
        EXPECT_NO_THROW(check(table, meshes * stages, microBatches))
            << generator.name << " " << meshes << " " << microBatches;
      }
}

TEST(ScheduleGenerators, NamesAreOfAnyCase) {
  EXPECT_TRUE(isGenerator("PreferBackward"));
  EXPECT_EQ(generate("PreferBackward", {4, 1, 8}), generate("1f1b", {4, 1, 8}));
  EXPECT_EQ(generate("preferforward", {4, 1, 8}), generate("GPipe", {4, 1, 8}));
}

TEST(ScheduleGenerators, AnUnknownNameSuggestsTheNearest) {
  EXPECT_FALSE(isGenerator("zb-h2"));
  EXPECT_THAT(
      errorOf("zb-h2", {2, 1, 2}),
      testing::StartsWith("unknown schedule \"zb-h2\", did you mean \"zb-h1\": schedules are gpipe, 1f1b"));
  for (auto [found, meant] : {std::pair("PreferForwards", "preferforward"),
                              {"Pipe", "gpipe"},
                              {"zb", "zb-h1"},
                              {"zb-v", "zb-h1"},
                              {"1F1B1", "1f1b"},
                              {"inter", "interleaved"}})
    EXPECT_THAT(errorOf(found, {2, 1, 2}), testing::HasSubstr("did you mean \"" + std::string(meant) + "\""));
  EXPECT_THAT(errorOf("\x01", {2, 1, 2}), testing::StartsWith("unknown schedule \"\\x01\", did you mean"));
}

TEST(ScheduleGenerators, NumbersThatAScheduleCannotHave) {
  EXPECT_EQ(errorOf("interleaved", {4, 2, 6}),
            "schedule \"interleaved\" on 4 meshes needs a multiple of 4 micro-batches, found 6");
  EXPECT_EQ(errorOf("interleaved", {4, 1, 8}),
            "schedule \"interleaved\" has 2 or more stages on each mesh, found 1; those with as many are "
            "gpipe, 1f1b, "
            "zb-h1, preferforward, preferbackward, preferbackwardoptimizer");
  EXPECT_EQ(errorOf("1f1b", {4, 2, 8}),
            "schedule \"1f1b\" has 1 stage on each mesh, found 2; those with as many are interleaved");
  EXPECT_EQ(errorOf("gpipe", {0, 1, 8}), "schedule \"gpipe\" of 8 micro-batches on 0 meshes of 1 stages: "
                                         "expected 1 or more of each");
  EXPECT_EQ(errorOf("gpipe", {1025, 1, 1}),
            "schedule \"gpipe\" is of 1025 meshes, expected at most 1024, as each has devices of its own");
  EXPECT_THAT(errorOf("interleaved", {1024, UINT32_MAX, 1024}),
              testing::HasSubstr("expected at most 1048576 micro-batches of all stages"));
  for (Shape shape : {Shape{1, 1, UINT32_MAX}, Shape{1024, 1, 1025}})
    EXPECT_THAT(errorOf("zb-h1", shape),
                testing::HasSubstr("expected at most 1048576 micro-batches of all stages"));
}

} // namespace
} // namespace epl::runtime::schedule
