// Which nodes of a step are one graph, and in which order launches come: on random steps, beside what all
// paths of the step say.

#include "runtime/device/cuda/pieces/LaunchOrder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace epl::runtime::cuda {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uint32_t kLanes = 2; // of each rank; the last one communicates

/// Commands on ranks that are a card each, put together as findNodes does.
class TestStep {
public:
  explicit TestStep(uint32_t ranks) : ranks(ranks), last(ranks * (kLanes + 1), kNowhere) {}

  /// A command of one rank.
  uint32_t run(uint32_t rank, std::vector<uint32_t> needs, bool isEmpty = false) {
    return add({StepNode::Kind::whole, item++, rank, kLanes * rank, isEmpty, std::move(needs), {}});
  }
  /// One that ranks transfer by, in groups: of each member what it needs. What its nodes end with.
  std::vector<uint32_t> transfer(const std::vector<std::vector<uint32_t>> &groups,
                                 const std::vector<std::vector<uint32_t>> &needs, bool isEmpty = true) {
    std::vector<uint32_t> befores(ranks, kNowhere), transfers(ranks), ends;
    std::vector<uint32_t> members;
    for (const std::vector<uint32_t> &group : groups)
      members.insert(members.end(), group.begin(), group.end());
    std::ranges::sort(members);
    uint32_t first = item;
    for (uint32_t rank : members)
      befores[rank] = add(onLane(StepNode::Kind::before, first + rank, rank, needs[rank], isEmpty));
    for (uint32_t rank : members)
      transfers[rank] =
          add({StepNode::Kind::transfer, first, rank, kLanes * ranks + rank, false, {befores[rank]}, {}});
    for (const std::vector<uint32_t> &group : groups)
      for (uint32_t rank : group)
        for (uint32_t other : group)
          nodes[transfers[rank]].partners.push_back(transfers[other]);
    for (uint32_t rank : members)
      ends.push_back(add(onLane(StepNode::Kind::behind, first + rank, rank, {transfers[rank]}, isEmpty)));
    item += ranks;
    return ends;
  }

  std::vector<StepNode> nodes;
  uint32_t ranks;

private:
  static StepNode onLane(StepNode::Kind kind, uint32_t item, uint32_t rank, std::vector<uint32_t> needs,
                         bool isEmpty) {
    return {kind, item, rank, kLanes * rank + kLanes - 1, isEmpty, std::move(needs), {}};
  }
  uint32_t add(StepNode node) {
    if (last[node.stream] != kNowhere)
      node.needs.push_back(last[node.stream]);
    last[node.stream] = uint32_t(nodes.size());
    nodes.push_back(std::move(node));
    return uint32_t(nodes.size() - 1);
  }

  uint32_t item = 0;
  std::vector<uint32_t> last;
};

TestStep makeRandom(uint64_t seed) {
  std::mt19937_64 random(seed);
  TestStep step(1 + random() % 4);
  std::vector<uint32_t> ends;
  auto choose = [&] {
    std::vector<uint32_t> needs;
    for (size_t i = random() % 3; i > 0 && !ends.empty(); --i)
      needs.push_back(ends[random() % ends.size()]);
    return needs;
  };
  for (size_t commands = 2 + random() % 20; commands > 0; --commands) {
    if (random() % 3 != 0) {
      for (uint32_t rank = 0; rank < step.ranks; ++rank)
        ends.push_back(step.run(rank, choose(), random() % 4 == 0));
      continue;
    }
    std::vector<std::vector<uint32_t>> groups(1 + random() % 2), needs;
    for (uint32_t rank = 0; rank < step.ranks; ++rank) {
      groups[random() % groups.size()].push_back(rank);
      needs.push_back(choose());
    }
    std::vector<uint32_t> made = step.transfer(groups, needs, random() % 2 == 0);
    ends.insert(ends.end(), made.begin(), made.end());
  }
  return step;
}

using Paths = std::vector<std::vector<bool>>; // from the first to the second

/// What comes before what; with partners, which end when all have come.
Paths findPaths(const std::vector<StepNode> &nodes, bool withPartners) {
  Paths paths(nodes.size(), std::vector<bool>(nodes.size()));
  for (size_t to = 0; to < nodes.size(); ++to) {
    std::vector<uint32_t> needs = nodes[to].needs;
    if (withPartners)
      for (uint32_t partner : nodes[to].partners)
        needs.insert(needs.end(), nodes[partner].needs.begin(), nodes[partner].needs.end());
    for (uint32_t need : needs)
      for (size_t from = 0; from < nodes.size(); ++from) {
        bool isPartner = withPartners && std::ranges::count(nodes[need].partners, from) > 0;
        paths[from][to] = paths[from][to] || from == need || isPartner || paths[from][need];
      }
  }
  return paths;
}

/// The transfers with a path to a node, and those with one from it.
std::pair<std::vector<size_t>, std::vector<size_t>> transfersAround(const std::vector<StepNode> &nodes,
                                                                    const Paths &paths, size_t node) {
  std::pair<std::vector<size_t>, std::vector<size_t>> found;
  for (size_t other = 0; other < nodes.size(); ++other)
    if (nodes[other].isTransfer()) {
      if (paths[other][node])
        found.first.push_back(other);
      // Of partners one is enough: all of them wait for what one needs.
      if (std::ranges::any_of(nodes[other].partners, [&](uint32_t partner) { return paths[node][partner]; }))
        found.second.push_back(other);
    }
  return found;
}

class PiecesTest : public testing::TestWithParam<uint64_t> {};

TEST_P(PiecesTest, AreWhatHasTheSameTransfersBeforeItAndBehindIt) {
  std::vector<StepNode> nodes = makeRandom(GetParam()).nodes;
  Paths paths = findPaths(nodes, true);
  std::vector<uint32_t> pieces = findPieces(nodes);
  for (size_t a = 0; a < nodes.size(); ++a) {
    EXPECT_EQ(nodes[a].isTransfer(), pieces[a] == kNowhere);
    for (size_t b = 0; b < a; ++b)
      if (!nodes[a].isTransfer() && !nodes[b].isTransfer()) {
        EXPECT_EQ(pieces[a] == pieces[b],
                  transfersAround(nodes, paths, a) == transfersAround(nodes, paths, b))
            << a << " and " << b;
      }
  }
}

/// All that lies on a path between nodes of a piece is in it: a graph of it lacks no order.
TEST_P(PiecesTest, HaveAllPathsBetweenTheirNodes) {
  std::vector<StepNode> nodes = makeRandom(GetParam()).nodes;
  Paths paths = findPaths(nodes, false);
  std::vector<uint32_t> pieces = findPieces(nodes);
  for (size_t a = 0; a < nodes.size(); ++a)
    for (size_t between = a; between < nodes.size(); ++between)
      for (size_t b = between; b < nodes.size(); ++b)
        if (pieces[a] != kNowhere && pieces[a] == pieces[b] && paths[a][between] && paths[between][b]) {
          EXPECT_EQ(pieces[between], pieces[a]) << between << " between " << a << " and " << b;
        }
}

/// A random step in launches, and what is before what by streams and events, as the host has called for them.
class LaunchOrderTest : public testing::TestWithParam<uint64_t> {
protected:
  /// `without`: a wait that is left out.
  Paths run(std::pair<size_t, size_t> without = {SIZE_MAX, 0}) const {
    Paths before(order.launches.size(), std::vector<bool>(order.launches.size()));
    for (size_t place = 0; place < order.launches.size(); ++place) {
      const Launch &launch = order.launches[place];
      std::vector<size_t> last(launch.waits.begin(), launch.waits.end());
      if (without.first == place)
        last.erase(last.begin() + ptrdiff_t(without.second));
      for (size_t other = 0; other < place; ++other)
        if (order.launches[other].stream == launch.stream)
          last.push_back(other);
      for (size_t other : last)
        for (size_t from = 0; from < place; ++from)
          before[from][place] = before[from][place] || from == other || before[from][other];
      for (size_t from = 0; launch.gate != kNowhere && from < place; ++from)
        before[from][place] = before[from][place] || before[from][launch.gate];
    }
    return before;
  }
  bool mayBePieces() const { return GetParam() % 3 != 0; }

  std::vector<StepNode> nodes = makeRandom(GetParam()).nodes;
  uint32_t origin = GetParam() % 2 == 0 ? 0 : kNowhere;
  Launches launches =
      mayBePieces() ? joinPieces(nodes, findPieces(nodes), uint32_t(GetParam() % 4)) : launchEach(nodes);
  LaunchOrder order = orderLaunches(nodes, launches, origin);
};

TEST_P(LaunchOrderTest, HasEachNodeOnceAndTransfersInTheirOrder) {
  std::vector<uint32_t> seen, transfers;
  for (const Launch &launch : order.launches)
    for (uint32_t node : launch.nodes) {
      (nodes[node].isTransfer() ? transfers : seen).push_back(node);
      EXPECT_EQ(launch.isTransfer, nodes[node].isTransfer());
    }
  EXPECT_TRUE(std::ranges::is_sorted(transfers));
  seen.insert(seen.end(), transfers.begin(), transfers.end());
  std::ranges::sort(seen);
  std::vector<uint32_t> expected;
  for (uint32_t node = 0; node < nodes.size(); ++node)
    if (!mayBePieces() || !nodes[node].isEmpty)
      expected.push_back(node);
  EXPECT_EQ(seen, expected);
  for (size_t place = 0; place < order.launches.size(); ++place)
    for (uint32_t wait : order.launches[place].waits) {
      EXPECT_LT(wait, place) << "an event is recorded before anything waits for it";
      EXPECT_TRUE(order.launches[wait].isAwaited);
    }
  for (const Launch &launch : order.launches)
    if (launch.gate != kNowhere) {
      const Launch &gate = order.launches[launch.gate];
      EXPECT_LT(&gate, &launch) << "its event is recorded before";
      EXPECT_TRUE(gate.isGate);
      EXPECT_THAT(nodes[launch.nodes[0]].partners, Contains(gate.nodes[0]));
      EXPECT_THAT(launch.waits, IsEmpty());
    }
}

/// What a node needs has ended before it begins; and no transfer waits for a node, and no node for a
/// transfer, that it could begin without.
TEST_P(LaunchOrderTest, WaitsForWhatNodesNeedAndForNoOtherTransfer) {
  Paths before = run(), paths = findPaths(nodes, false), withPartners = findPaths(nodes, true);
  auto isNeeded = [&](uint32_t a, uint32_t b) {
    return withPartners[a][b] ||
           std::ranges::any_of(nodes[a].partners, [&](uint32_t each) { return withPartners[each][b]; }) ||
           std::ranges::any_of(nodes[b].partners, [&](uint32_t each) { return withPartners[a][each]; });
  };
  for (size_t x = 0; x < order.launches.size(); ++x)
    for (size_t y = 0; y < order.launches.size(); ++y)
      for (uint32_t a : order.launches[x].nodes)
        for (uint32_t b : order.launches[y].nodes) {
          if (x != y && paths[a][b])
            EXPECT_TRUE(before[x][y]) << a << " before " << b;
          if (before[x][y] && (nodes[a].isTransfer() || nodes[b].isTransfer()))
            EXPECT_TRUE(isNeeded(a, b)) << a << " need not be before " << b;
        }
}

TEST_P(LaunchOrderTest, HasNoWaitForWhatIsOrderedWithoutIt) {
  for (size_t place = 0; place < order.launches.size(); ++place)
    for (size_t wait = 0; wait < order.launches[place].waits.size(); ++wait)
      EXPECT_FALSE(run({place, wait})[order.launches[place].waits[wait]][place]);
}

/// The step has ended behind all launches, and all begin behind its begin.
TEST_P(LaunchOrderTest, LiesBetweenBeginAndEnd) {
  Paths before = run();
  for (size_t place = 0; place < order.launches.size(); ++place) {
    const Launch &launch = order.launches[place];
    bool isEnded = launch.stream == origin;
    for (uint32_t end : order.ends)
      isEnded |= end == place || before[place][end];
    for (size_t other = place + 1; other < order.launches.size(); ++other)
      isEnded |= order.launches[other].stream == origin && before[place][other];
    EXPECT_TRUE(isEnded) << place;
    bool isFirst = std::ranges::none_of(before, [&](const auto &row) { return bool(row[place]); });
    EXPECT_EQ(launch.awaitsBegin, isFirst && launch.stream != origin);
  }
  for (uint32_t end : order.ends)
    EXPECT_TRUE(order.launches[end].isAwaited);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PiecesTest, testing::Range<uint64_t>(0, 200));
INSTANTIATE_TEST_SUITE_P(Seeds, LaunchOrderTest, testing::Range<uint64_t>(0, 300));

/// Gradients of two layers on two cards, each summed as soon as it is there, and two updates.
class TwoLayers : public testing::Test {
protected:
  TwoLayers() : step(2) {
    auto both = [&](std::vector<uint32_t> needs) {
      std::vector<uint32_t> made;
      for (uint32_t rank = 0; rank < 2; ++rank)
        made.push_back(step.run(rank, needs.empty() ? needs : std::vector{needs[rank]}));
      return made;
    };
    auto sum = [&](const std::vector<uint32_t> &of) { return step.transfer({{0, 1}}, {{of[0]}, {of[1]}}); };
    both({});                                      // nodes 0, 1
    std::vector<uint32_t> last = both({});         // 2, 3
    std::vector<uint32_t> sumOfLast = sum(last);   // 4 .. 9, transfers 6, 7
    std::vector<uint32_t> first = both({});        // 10, 11
    std::vector<uint32_t> sumOfFirst = sum(first); // 12 .. 17, transfers 14, 15
    both(sumOfLast);                               // 18, 19
    both(sumOfFirst);                              // 20, 21
    pieces = findPieces(step.nodes);
    launches = joinPieces(step.nodes, pieces, 2);
    order = orderLaunches(step.nodes, launches, 0);
  }
  std::vector<std::vector<uint32_t>> nodesOfLaunches() const {
    std::vector<std::vector<uint32_t>> all;
    for (const Launch &launch : order.launches)
      all.push_back(launch.nodes);
    return all;
  }

  TestStep step;
  std::vector<uint32_t> pieces;
  Launches launches;
  LaunchOrder order;
};

TEST_F(TwoLayers, SumTheLastOneWhileTheFirstIsComputed) {
  EXPECT_THAT(nodesOfLaunches(),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(6), ElementsAre(7), ElementsAre(10),
                          ElementsAre(11), ElementsAre(14), ElementsAre(15), ElementsAre(18), ElementsAre(19),
                          ElementsAre(20), ElementsAre(21)));
  EXPECT_TRUE(order.launches[0].isGraph) << "of four kernels";
  EXPECT_FALSE(order.launches[3].isGraph) << "of one kernel on each card";
  EXPECT_THAT(order.launches[0].waits, IsEmpty()) << "it is on the stream of the step";
  EXPECT_THAT(order.launches[1].waits, ElementsAre(0));
  EXPECT_THAT(order.launches[3].waits, IsEmpty()) << "the gradient of the first layer waits for no sum";
  EXPECT_THAT(order.launches[4].waits, ElementsAre(0)) << "on the other card";
  EXPECT_THAT(order.launches[5].waits, ElementsAre(3));
  EXPECT_THAT(order.launches[7].waits, ElementsAre(1)) << "the update of the last layer";
  EXPECT_THAT(order.launches[9].waits, ElementsAre(5)) << "the update of the first layer";
  EXPECT_FALSE(order.isBeginAwaited);
  EXPECT_THAT(order.ends, ElementsAre(10)) << "on the other card";
}

/// Each card's sums wait for all cards' sums before: not each for each, but all for one that does.
TEST(LaunchOrder, WaitsOnceForWhatPartnersNeed) {
  TestStep step(8);
  std::vector<uint32_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<uint32_t> ends = step.transfer({all}, std::vector<std::vector<uint32_t>>(8));
  step.transfer({all}, std::vector<std::vector<uint32_t>>(8, ends));
  Launches launches = joinPieces(step.nodes, findPieces(step.nodes), 2);
  std::vector<Launch> found = orderLaunches(step.nodes, launches, kNowhere).launches;
  ASSERT_EQ(found.size(), 16U);
  EXPECT_TRUE(found[8].isGate);
  EXPECT_THAT(found[8].waits, UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7));
  for (size_t place = 9; place < 16; ++place) {
    EXPECT_EQ(found[place].gate, 8U);
    EXPECT_THAT(found[place].waits, IsEmpty());
  }
  for (size_t place = 0; place < 8; ++place)
    EXPECT_TRUE(found[place].awaitsBegin && !found[place].isGate) << "there is nothing to wait for";
}

TEST(LaunchOrder, HasOneLaunchWithoutTransfers) {
  TestStep local(2);
  for (uint32_t rank : {0U, 1U, 0U, 1U})
    local.run(rank, {});
  Launches all = joinPieces(local.nodes, findPieces(local.nodes), 0);
  LaunchOrder one = orderLaunches(local.nodes, all, 0);
  ASSERT_EQ(one.launches.size(), 1U);
  EXPECT_TRUE(one.launches[0].isGraph);
  EXPECT_FALSE(one.launches[0].isAwaited);
  EXPECT_THAT(one.ends, IsEmpty());
}

} // namespace
} // namespace epl::runtime::cuda
