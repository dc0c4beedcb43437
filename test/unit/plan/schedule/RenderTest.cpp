// Timelines as text.

#include "runtime/plan/schedule/Render.h"
#include "runtime/plan/schedule/Generators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace epl::runtime::schedule {
namespace {

std::string timeline(std::string_view name, const Shape &shape, const Costs &costs = {}, size_t width = 100) {
  return render(simulate(generate(name, shape), costs), width);
}

TEST(ScheduleRender, AUnitIsAsLongAsItTakes) {
  EXPECT_EQ(timeline("1f1b", {2, 1, 3}), "mesh 0    F0 F1 ..... B0--- F2 B1--- .. B2---\n"
                                         "mesh 1    .. F0 B0--- F1 B1--- F2 B2--- .....\n");
  EXPECT_EQ(timeline("zb-h1", {2, 1, 2}), "mesh 0    F0 F1 .. I0 W0 I1 W1\n"
                                          "mesh 1    .. F0 I0 F1 I1 W0 W1\n");
}

TEST(ScheduleRender, StagesAreNamedWhereAMeshHasSeveral) {
  EXPECT_EQ(timeline("interleaved", {1, 2, 1}), "mesh 0    0F0 1F0 1B0---- 0B0----\n");
}

TEST(ScheduleRender, NamesThatAreLongerMakeAllLonger) {
  EXPECT_EQ(timeline("gpipe", {1, 1, 11}, {}, 400).substr(0, 55),
            "mesh 0    F0- F1- F2- F3- F4- F5- F6- F7- F8- F9- F10 B");
}

TEST(ScheduleRender, ShortUnitsDecide) {
  EXPECT_EQ(timeline("1f1b", {1, 1, 2}, {.forward = 1, .backward = 0.5}), "mesh 0    F0--- B0 F1--- B1\n");
}

TEST(ScheduleRender, LongTimelinesGoOnBelow) {
  EXPECT_EQ(timeline("1f1b", {1, 1, 8}, {}, 40), "time      0\n"
                                                 "mesh 0    F0 B0--- F1 B1--- F2 B2--- F3\n"
                                                 "time      10\n"
                                                 "mesh 0    B3--- F4 B4--- F5 B5--- F6 B6-\n"
                                                 "time      20\n"
                                                 "mesh 0    -- F7 B7---\n");
}

TEST(ScheduleRender, LinesFit) {
  for (size_t width : {40, 100})
    for (const char *name : {"gpipe", "zb-h1"}) {
      std::istringstream text(timeline(name, {12, 1, 40}, {.link = 0.3}, width));
      for (std::string line; std::getline(text, line);)
        EXPECT_LE(line.size(), width) << line;
    }
}

TEST(ScheduleRender, WhereNamesHaveNoRoomUnitsAreLetters) {
  std::string text = timeline("1f1b", {1, 1, 1000}, {}, 5000);
  EXPECT_EQ(text.substr(0, 30), "mesh 0    FB0 FB1 FB2 FB3 FB4 ");
  EXPECT_EQ(text.substr(text.size() - 12), "FBB FBB FBB\n"); // not B9, which is another one
  EXPECT_LE(text.size(), 4200U);
}

} // namespace
} // namespace epl::runtime::schedule
