#include "runtime/host/Placement.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace epl::runtime {
namespace {

CpuSet setOf(std::initializer_list<int> cpus) {
  CpuSet set;
  for (int cpu : cpus)
    set.add(cpu);
  return set;
}

TEST(CpuSet, PartsAreDisjointAndAllButEqual) {
  CpuSet set = setOf({1, 4, 5, 9, 1000});
  EXPECT_EQ(set.part(0, 1), set);
  EXPECT_EQ(set.part(0, 2), setOf({1, 4, 5}));
  EXPECT_EQ(set.part(1, 2), setOf({9, 1000}));
  EXPECT_EQ(set.part(0, 5), setOf({1}));
  EXPECT_EQ(set.part(4, 5), setOf({1000}));
}

TEST(CpuSet, IsEmptyForAThreadThatIsNot) {
  EXPECT_EQ(CpuSet::of(-1).size(), 0u);
  EXPECT_GT(CpuSet::of(0).size(), 0u);
}

/// A thread that sleeps until `wake` and tells where it was then, before and after its release.
class Sleeper {
public:
  explicit Sleeper(const CpuSet &home) : thread([this, home] { sleep(home); }) { signal.wait(0); }

  void wakeAndJoin() {
    signal = 2;
    signal.notify_one();
    thread.join();
  }

  Placement placement;
  pid_t id = 0;
  int begun = -1;
  CpuSet during, after;

private:
  void sleep(const CpuSet &home) {
    EXPECT_TRUE(home.apply(0));
    placement.adopt();
    id = gettid();
    signal = 1;
    signal.notify_one();
    signal.wait(1);
    begun = sched_getcpu();
    during = CpuSet::of(0);
    placement.release();
    after = CpuSet::of(0);
  }

  std::atomic<int> signal = 0;
  std::thread thread;
};

/// All CPUs of the process; a test that needs two is skipped where there is one.
class PlacementTest : public testing::Test {
protected:
  void SetUp() override {
    if (all.size() < 2)
      GTEST_SKIP() << "needs two CPUs";
  }
  const CpuSet all = CpuSet::of(0);
};

TEST_F(PlacementTest, ThreadsBeginApart) {
  std::array<Sleeper, 2> sleepers = {Sleeper(all), Sleeper(all)};
  for (unsigned i = 0; i < 2; ++i)
    sleepers[i].placement.confine(i, 2);
  for (Sleeper &sleeper : sleepers)
    sleeper.wakeAndJoin();
  EXPECT_NE(sleepers[0].begun, sleepers[1].begun);
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_TRUE(all.part(i, 2).contains(sleepers[i].begun));
    EXPECT_EQ(sleepers[i].after, all);
  }
}

TEST_F(PlacementTest, LeavesTheCpuOfTheWaker) {
  Sleeper sleeper(all);
  CpuSet here = setOf({sched_getcpu()});
  ASSERT_TRUE(here.apply(0));
  sleeper.placement.confine(0, 1);
  ASSERT_TRUE(all.apply(0));
  sleeper.wakeAndJoin();
  EXPECT_FALSE(here.contains(sleeper.begun));
}

TEST_F(PlacementTest, StaysAmongTheCpusThatTheThreadMayUse) {
  CpuSet one = all.part(0, all.size());
  Sleeper sleeper(one);
  sleeper.placement.confine(1, 2); // which is more than there are
  sleeper.wakeAndJoin();
  EXPECT_EQ(sleeper.during, one);
  EXPECT_EQ(sleeper.after, one);
}

TEST_F(PlacementTest, ConfinesOnceUntilTheThreadBegins) {
  Sleeper sleeper(all);
  sleeper.placement.confine(0, 2);
  sleeper.placement.confine(1, 2);
  sleeper.wakeAndJoin();
  EXPECT_EQ(sleeper.after, all);
}

TEST_F(PlacementTest, KeepsAChangeFromOutside) {
  CpuSet one = all.part(0, all.size());
  Sleeper sleeper(all);
  sleeper.placement.confine(1, 2);
  ASSERT_TRUE(one.apply(sleeper.id));
  sleeper.wakeAndJoin();
  EXPECT_EQ(sleeper.after, one);
}

} // namespace
} // namespace epl::runtime
