// What is wrong with tables, each with the message that names it.

#include "runtime/plan/schedule/Check.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/schedule/Text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::schedule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// What `check` says of a table of two micro-batches.
std::vector<std::string> messagesOf(const Table &table, uint32_t stages = 2) {
  try {
    check(table, stages, 2);
  } catch (const PlanError &error) {
    return error.messages();
  }
  return {};
}

std::vector<std::string> messagesOf(std::string_view text, uint32_t stages = 2) {
  return messagesOf(parse(text, "text").table, stages);
}

constexpr const char *first = "s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1\n";
constexpr const char *second = "s1.F.m0 s1.B.m0 s1.F.m1 s1.B.m1\n";

TEST(ScheduleCheck, TakesWholeAndSplitBackwards) {
  EXPECT_THAT(messagesOf(std::string(first) + second), IsEmpty());
  EXPECT_THAT(messagesOf("s0.F.m0 s0.F.m1 s0.I.m0 s0.W.m0 s0.I.m1 s0.W.m1\n" + std::string(second)),
              IsEmpty());
  EXPECT_THAT(messagesOf("s0.F.m0 s0.F.m1 s0.I.m0 s0.I.m1\n s1.F.m0 s1.I.m0 s1.F.m1 s1.I.m1 s1.W.m0 s1.W.m1"),
              IsEmpty());
}

TEST(ScheduleCheck, StagesAreWhereTheTableHasThem) {
  EXPECT_THAT(messagesOf(std::string(second) + first), IsEmpty());
  EXPECT_THAT(messagesOf("s0.F.m0 s0.F.m1 s1.F.m0 s1.B.m0 s1.F.m1 s0.B.m0 s1.B.m1 s0.B.m1"), IsEmpty());
  EXPECT_THAT(
      messagesOf("s0.F.m0 s0.F.m1 s0.B.m0\ns1.F.m0 s1.B.m0 s1.F.m1 s1.B.m1 s0.B.m1"),
      ElementsAre("mesh 1, word 5: s0.B.m1 is of a stage that is on mesh 0, expected all units of a stage "
                  "on one mesh"));
}

TEST(ScheduleCheck, AMissingUnit) {
  EXPECT_THAT(messagesOf("s0.F.m0 s0.B.m0 s0.B.m1\n" + std::string(second)),
              ElementsAre("s0.F.m1 is missing: stage 0 has F of 1 micro-batches, expected 2"));
  EXPECT_THAT(messagesOf("s0.F.m1 s0.B.m0 s0.B.m1\n" + std::string(second)),
              ElementsAre("s0.F.m0 is missing: stage 0 has F of 1 micro-batches, expected 2"));
  EXPECT_THAT(messagesOf(first), ElementsAre("stage 1 has no unit: expected 2 stages on 1 meshes"));
  EXPECT_THAT(messagesOf(Table(), 3),
              ElementsAre("stage 0 has no unit, and 2 more: expected 3 stages on 0 meshes"));
  EXPECT_THAT(messagesOf({parse(first, "").table[0], {}}, 1),
              ElementsAre("mesh 1 has no unit, expected a stage on each mesh"));
}

TEST(ScheduleCheck, MicroBatchesThatAreMissingAsAWhole) {
  EXPECT_THAT(messagesOf("s0.F.m0 s0.B.m0\ns1.F.m0 s1.B.m0"),
              ElementsAre("the table has 1 micro-batches, expected 2"));
  EXPECT_THAT(messagesOf("s0.F.m0 s0.B.m0\ns1.B.m0"),
              ElementsAre("the table has 1 micro-batches, expected 2",
                          "stage 1 has kinds B (s1.B.m0), expected F and B, or F, I and W"));
}

TEST(ScheduleCheck, AUnitThatStandsTwice) {
  EXPECT_THAT(messagesOf("s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1 s0.F.m0\n" + std::string(second)),
              ElementsAre("mesh 0, word 5: s0.F.m0 is at mesh 0, word 1 already, expected it once"));
}

TEST(ScheduleCheck, AUnitOfNoStageOrMicroBatch) {
  EXPECT_THAT(
      messagesOf(first + std::string(second) + "s2.F.m0 s2.F.m1"),
      ElementsAre("mesh 2, word 1: s2.F.m0 is of no stage, and 1 more: expected 2 stages on 3 meshes"));
  EXPECT_THAT(messagesOf("s0.F.m0 s0.F.m1 s0.F.m2 s0.B.m0 s0.B.m1\n" + std::string(second)),
              ElementsAre("mesh 0, word 3: s0.F.m2 is of no micro-batch: expected 2 micro-batches"));
  EXPECT_THAT(
      messagesOf("s4294967295.F.m4294967295\n" + std::string(first) + second),
      ElementsAre("mesh 0, word 1: s4294967295.F.m4294967295 is of no stage: expected 2 stages on 3 meshes"));
}

TEST(ScheduleCheck, KindsThatMakeNoStage) {
  EXPECT_THAT(
      messagesOf("s0.F.m0 s0.F.m1\n" + std::string(second)),
      ElementsAre("stage 0 has kinds F (s0.F.m0), expected F and B, or F, I and W, or F and I, as it sends "
                  "no gradient"));
  EXPECT_THAT(
      messagesOf(first + std::string("s1.F.m0 s1.B.m0 s1.F.m1 s1.W.m1")),
      ElementsAre("stage 1 has kinds FBW (s1.F.m0, s1.B.m0, s1.W.m1), expected F and B, or F, I and W"));
  EXPECT_THAT(messagesOf(first + std::string("s1.F.m0 s1.I.m0 s1.F.m1 s1.I.m1")),
              ElementsAre("stage 1 has kinds FI (s1.F.m0, s1.I.m0), expected F and B, or F, I and W"));
}

TEST(ScheduleCheck, SumsOutOfOrder) {
  EXPECT_THAT(messagesOf("s0.F.m0 s0.F.m1 s0.B.m1 s0.B.m0\n" + std::string(second)),
              ElementsAre("mesh 0, word 4: s0.B.m0 stands behind s0.B.m1: sums out of order, expected the "
                          "micro-batches of a kind to ascend"));
}

TEST(ScheduleCheck, ACircleOfWaits) {
  const std::string says =
      "the step never ends: units wait for each other, each for the next, which it needs or "
      "stands behind: ";
  EXPECT_THAT(messagesOf("s0.F.m0 s0.B.m0 s0.F.m1 s0.B.m1\ns1.F.m0 s1.F.m1 s1.B.m0 s1.B.m1"),
              ElementsAre(says + "s0.B.m0 -> s1.B.m0 -> s1.F.m1 -> s0.F.m1 -> s0.B.m0"));
  EXPECT_THAT(messagesOf("s0.B.m0 s0.F.m0 s0.F.m1 s0.B.m1", 1),
              ElementsAre(says + "s0.B.m0 -> s0.F.m0 -> s0.B.m0"));
  // Mesh 0 waits for a circle, and is not in it.
  EXPECT_THAT(messagesOf("s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1\ns1.B.m0 s1.F.m0 s1.F.m1 s1.B.m1"),
              ElementsAre(says + "s1.B.m0 -> s1.F.m0 -> s1.B.m0"));
}

TEST(ScheduleCheck, SaysLineAndWordOfAFile) {
  WrittenTable written =
      parse("# mine\ns0.F.m0 s0.F.m1 s0.B.m1 s0.B.m0\n\ns1.F.m0 s1.F.m0 s1.B.m0 s1.B.m1 s2.B.m0", "my.txt");
  EXPECT_THAT(
      [&] { check(written, 2, 2); },
      testing::Throws<PlanError>(testing::Property(
          &PlanError::messages,
          ElementsAre("my.txt:2: word 4: s0.B.m0 stands behind s0.B.m1: sums out of order, expected the "
                      "micro-batches of a kind to ascend",
                      "my.txt:4: word 2: s1.F.m0 is at line 4, word 1 already, expected it once",
                      "my.txt:4: word 5: s2.B.m0 is of no stage: expected 2 stages on 2 meshes",
                      "my.txt:4: s1.F.m1 is missing: stage 1 has F of 1 micro-batches, expected 2"))));
  EXPECT_THAT([&] { check(parse("\ns0.B.m0 s0.F.m0", "my.txt"), 1, 1); },
              testing::ThrowsMessage<PlanError>(testing::StartsWith("my.txt: the step never ends: ")));
}

TEST(ScheduleCheck, MoreMeshesThanDevices) {
  Table table;
  for (uint32_t stage = 0; stage < 1025; ++stage)
    table.push_back({{stage, Kind::forward, 0}, {stage, Kind::backward, 0}});
  EXPECT_THAT(
      messagesOf(table, 1025),
      testing::Contains("the table has 1025 meshes, expected at most 1024, as each has devices of its own"));
}

TEST(ScheduleCheck, SaysAllThatIsWrong) {
  EXPECT_THAT(messagesOf("s0.F.m0 s0.B.m1 s0.B.m0 s0.B.m0\ns1.F.m0 s1.B.m0 s1.F.m1 s1.B.m7"),
              ElementsAre("mesh 0, word 3: s0.B.m0 stands behind s0.B.m1: sums out of order, expected the "
                          "micro-batches of a kind to ascend",
                          "mesh 0, word 4: s0.B.m0 is at mesh 0, word 3 already, expected it once",
                          "mesh 1, word 4: s1.B.m7 is of no micro-batch: expected 2 micro-batches",
                          "s0.F.m1 is missing: stage 0 has F of 1 micro-batches, expected 2",
                          "s1.B.m1 is missing: stage 1 has B of 1 micro-batches, expected 2"));
}

} // namespace
} // namespace epl::runtime::schedule
