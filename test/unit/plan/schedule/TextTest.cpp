// Tables as text: there and back, and words that are no units.

#include "runtime/plan/schedule/Text.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/schedule/Generators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::schedule {
namespace {

using testing::ElementsAre;

std::vector<std::string> messagesOf(std::string_view text) {
  try {
    parse(text, "my.txt");
  } catch (const PlanError &error) {
    return error.messages();
  }
  return {};
}

TEST(ScheduleText, IsALineForEachMesh) {
  EXPECT_EQ(write(generate("1f1b", {2, 1, 2})),
            "s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1\ns1.F.m0 s1.B.m0 s1.F.m1 s1.B.m1\n");
}

TEST(ScheduleText, ThereAndBack) {
  for (const Generator &generator : getGenerators()) {
    Table table = generate(generator.name, {3, generator.hasSeveralStages ? 2u : 1u, 12});
    EXPECT_EQ(parse(write(table), "text").table, table) << generator.name;
  }
  Table largest = {{{UINT32_MAX, Kind::weight, UINT32_MAX}}};
  EXPECT_EQ(parse(write(largest), "text").table, largest);
}

TEST(ScheduleText, CommentsAndSpacesAreNoUnits) {
  Table table = {{{0, Kind::forward, 0}, {0, Kind::input, 12}}, {{1, Kind::weight, 3}}};
  WrittenTable found = parse("# s9.F.m9\r\n\n \t s0.F.m0\ts0.I.m12# s0.F.m1\r\n  #\ns1.W.m3", "text");
  EXPECT_EQ(found.table, table);
  EXPECT_THAT(found.lines, ElementsAre(3, 5));
}

TEST(ScheduleText, AWordThatIsNoUnit) {
  for (const char *word : {"s0.X.m0", "s0.F.m", "s0.F", "0.F.0", "s0.F.m0.", "s-1.F.m0", "s0.FB.m0", "s0..m0",
                           "s0.F.m4294967296", "s+0.F.m0", "s0.f.m0", "F", ".", "s0.F.m0,"})
    EXPECT_THAT(messagesOf(std::string("# a comment\n  s0.F.m0 ") + word),
                ElementsAre("my.txt:2: word 2 is \"" + std::string(word) +
                            "\", expected a unit like s0.F.m0, of kind F, B, I or W"));
}

TEST(ScheduleText, AllWordsThatAreNone) {
  EXPECT_THAT(
      messagesOf("s0.F.m0 forward\n\n\x01"),
      ElementsAre("my.txt:1: word 2 is \"forward\", expected a unit like s0.F.m0, of kind F, B, I or W",
                  "my.txt:3: word 1 is \"\\x01\", expected a unit like s0.F.m0, of kind F, B, I or W"));
  std::string junk;
  for (int i = 0; i < 100; ++i)
    junk += "junk\n";
  EXPECT_EQ(messagesOf(junk).size(), 21U);
  EXPECT_EQ(messagesOf(junk).back(), "and 80 more");
}

TEST(ScheduleText, NoUnitsAtAll) {
  for (const char *text : {"", "\n", "# nothing"})
    EXPECT_THAT(messagesOf(text),
                ElementsAre("my.txt has no units, expected a line of units for each mesh, like "
                            "s0.F.m0 s0.B.m0"));
}

} // namespace
} // namespace epl::runtime::schedule
