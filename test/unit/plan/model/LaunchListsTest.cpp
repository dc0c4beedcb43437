// Which launches of a plan for GPUs are one launch.

#include "runtime/plan/model/LaunchLists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace epl::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lists = std::vector<std::vector<uint32_t>>;

/// A plan on one card whose buffers are 8 bytes each, one behind the other.
class Launches {
public:
  Launches(uint32_t buffers, uint32_t lanes) {
    plan.devices = 1;
    for (uint32_t lane = 0; lane < lanes; ++lane)
      plan.lanes.push_back(std::make_unique<plan::LaneT>());
    for (uint32_t buffer = 0; buffer < buffers; ++buffer) {
      auto made = std::make_unique<plan::BufferT>();
      made->slot = -1, made->view_of = -1, made->offset = 8 * buffer, made->size = 8;
      plan.buffers.push_back(std::move(made));
    }
  }

  struct Code {
    const char *symbol = "code";
    uint32_t threads = 128, blocks = 1;
    int64_t extent = 1;
  };
  /// Adds a command that reads some buffers and writes one.
  uint32_t add(std::vector<uint32_t> buffers, const Code &code, uint32_t lane = 0,
               const std::vector<uint32_t> &waits = {}) {
    plan::LaunchT launch;
    launch.kernel = uint32_t(plan.kernels.size());
    plan.kernels.push_back(makeKernel(buffers.size(), code));
    launch.buffers = std::move(buffers);
    plan::CommandT &command = addCommand(lane, waits);
    command.action.Set(std::move(launch));
    return uint32_t(plan.commands.size() - 1);
  }
  uint32_t add(std::vector<uint32_t> buffers) { return add(std::move(buffers), Code()); }
  /// Adds one that is no launch.
  void addCopy(uint32_t from, uint32_t to, uint32_t lane = 0, const std::vector<uint32_t> &waits = {}) {
    plan::CopyT copy;
    copy.source = from, copy.target = to;
    addCommand(lane, waits).action.Set(std::move(copy));
  }

  /// In the order in which they were added.
  Lists find() const {
    std::vector<size_t> places(plan.commands.size());
    std::iota(places.begin(), places.end(), 0);
    return findLaunchLists(plan, Mesh(plan), places);
  }

  plan::PlanT plan;

private:
  static std::unique_ptr<plan::KernelT> makeKernel(size_t operands, const Code &code) {
    auto kernel = std::make_unique<plan::KernelT>();
    kernel->symbol = code.symbol;
    kernel->num_inputs = uint32_t(operands - 1), kernel->num_outputs = 1;
    kernel->operand_sizes.assign(operands, 8);
    auto grid = std::make_unique<plan::GridT>();
    grid->blocks = code.blocks, grid->threads = code.threads, grid->extent = code.extent;
    kernel->grids.push_back(std::move(grid));
    return kernel;
  }
  plan::CommandT &addCommand(uint32_t lane, const std::vector<uint32_t> &waits) {
    plan.lanes[lane]->commands.push_back(uint32_t(plan.commands.size()));
    plan.commands.push_back(std::make_unique<plan::CommandT>());
    plan.commands.back()->lane = lane;
    for (uint32_t wait : waits)
      plan.commands.back()->waits.emplace_back(wait, plan::WaitScope::self, 0);
    return *plan.commands.back();
  }
};

TEST(LaunchLists, AreOfOneCode) {
  Launches launches(8, 1);
  for (uint32_t buffer = 0; buffer < 4; ++buffer)
    launches.add({buffer, buffer + 4}, {buffer < 2 ? "first" : "second"});
  EXPECT_THAT(launches.find(), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(LaunchLists, AreOfOneShapeOfBlocks) {
  Launches launches(8, 1);
  launches.add({0, 4}, {"code", 128});
  launches.add({1, 5}, {"code", 256});
  launches.add({2, 6}, {"code", 256, 7});
  EXPECT_THAT(launches.find(), ElementsAre(ElementsAre(1, 2)));
}

/// What a library may do in the place of another command has nothing to run then.
TEST(LaunchLists, AreOfNoPartOfAttention) {
  Launches launches(8, 1);
  for (uint32_t buffer = 0; buffer < 4; ++buffer)
    launches.add({buffer, buffer + 4});
  launches.plan.commands[1]->attention = 3;
  EXPECT_THAT(launches.find(), ElementsAre(ElementsAre(2, 3)));
}

TEST(LaunchLists, MayReadTheSame) {
  Launches launches(4, 1);
  launches.add({0, 1});
  launches.add({0, 2});
  launches.add({0, 3});
  EXPECT_THAT(launches.find(), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(LaunchLists, ReadNothingThatOneOfThemWrites) {
  Launches launches(4, 1);
  launches.add({0, 1});
  launches.add({1, 2}); // behind a write
  launches.add({3, 1}); // behind a read
  launches.add({0, 1}); // behind a write of the same
  EXPECT_THAT(launches.find(), IsEmpty());
}

TEST(LaunchLists, EndWhereAnotherCommandComesBetween) {
  Launches launches(8, 1);
  launches.add({0, 1});
  launches.addCopy(2, 3);
  launches.add({4, 5});
  EXPECT_THAT(launches.find(), IsEmpty());
}

TEST(LaunchLists, EndBeforeOthersWaitForThem) {
  Launches launches(8, 2);
  launches.add({0, 1});
  launches.addCopy(1, 2, 1, {0});
  launches.add({3, 4});
  launches.add({5, 6});
  EXPECT_THAT(launches.find(), ElementsAre(ElementsAre(2, 3)));
}

TEST(LaunchLists, MayWaitForWhatComesBetween) {
  Launches launches(8, 2);
  launches.add({0, 1});
  launches.addCopy(2, 3, 1);
  launches.add({3, 4}, {}, 0, {1});
  EXPECT_THAT(launches.find(), ElementsAre(ElementsAre(0, 2)));
}

TEST(LaunchLists, HaveNoLaunchesThatDoNothing) {
  Launches launches(8, 1);
  launches.add({0, 1});
  launches.add({2, 3}, {"code", 128, 1, 0});
  launches.add({4, 5});
  EXPECT_THAT(launches.find(), IsEmpty());
}

TEST(LaunchLists, HaveNoMoreBlocksThanAGrid) {
  Launches launches(8, 1);
  for (uint32_t buffer = 0; buffer < 4; ++buffer)
    launches.add({buffer, buffer + 4}, {"code", 128, 1u << 30});
  EXPECT_THAT(launches.find(), IsEmpty()); // two are one block too many
}

/// Random launches on few buffers: two of a list do not need one another, nor does a command between them.
TEST(LaunchLists, OfRandomLaunchesDoNotNeedOneAnother) {
  size_t found = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Launches launches(12, 2);
    for (uint32_t command = 0; command < 30; ++command) {
      std::vector<uint32_t> waits;
      if (command > 0 && random() % 4 == 0)
        waits.push_back(random() % command);
      launches.add({uint32_t(random() % 12), uint32_t(random() % 12), uint32_t(random() % 12)}, {},
                   uint32_t(random() % 2), waits);
    }
    const plan::PlanT &plan = launches.plan;
    auto buffersOf = [&](uint32_t command) { return plan.commands[command]->action.AsLaunch()->buffers; };
    for (const std::vector<uint32_t> &list : launches.find()) {
      ++found;
      const std::vector<uint32_t> &lane = plan.lanes[plan.commands[list.front()]->lane]->commands;
      EXPECT_TRUE(std::ranges::search(lane, list)) << "they follow one another";
      for (uint32_t one : list)
        for (uint32_t other : list)
          if (one != other)
            EXPECT_THAT(buffersOf(other), testing::Not(testing::Contains(buffersOf(one).back()))) << seed;
      for (uint32_t between = list.front(); between <= list.back(); ++between)
        for (const plan::Wait &wait : plan.commands[between]->waits)
          EXPECT_THAT(list, testing::Not(testing::Contains(wait.command()))) << seed;
    }
  }
  EXPECT_GT(found, 500u);
}

} // namespace
} // namespace epl::runtime
