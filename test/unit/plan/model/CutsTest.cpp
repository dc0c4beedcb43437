// Classes of bytes and ranks, held against every byte of every rank.

#include "runtime/plan/model/CaseMap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace epl::runtime::test {
namespace {

/// Axes "data" of 3 and "model" of 2; a communicator over each and one over both.
plan::PlanT meshOfSix() {
  plan::PlanT plan;
  for (auto [name, size] : {std::pair("data", 3u), std::pair("model", 2u)}) {
    plan.axes.push_back(std::make_unique<plan::AxisT>());
    plan.axes.back()->name = name;
    plan.axes.back()->size = size;
  }
  for (const std::vector<std::string> &axes :
       {std::vector<std::string>{"data"}, {"model"}, {"data", "model"}}) {
    plan.communicators.push_back(std::make_unique<plan::CommunicatorT>());
    plan.communicators.back()->axes = axes;
  }
  return plan;
}

Access partOfAll(uint32_t communicator, Extent extent, int64_t count) {
  return {.buffer = 0,
          .write = false,
          .extent = extent,
          .communicator = communicator,
          .count = count,
          .elementBytes = 1};
}

Literal literalOf(Cuts &cuts, const Access &access, uint64_t base) {
  Condition found;
  cuts.visit(access, base, [&](ByteRange, const Condition &condition) { found = condition; });
  EXPECT_EQ(found.size(), 1u);
  return found.front();
}

TEST(Cuts, FindsTheFirstRankAndItsFirstBytes) {
  plan::PlanT plan = meshOfSix();
  Mesh mesh(plan);
  Cuts cuts(mesh);
  Literal own = literalOf(cuts, partOfAll(0, Extent::ownPart, 96), 100);
  Literal other = literalOf(cuts, partOfAll(0, Extent::otherParts, 96), 100);
  EXPECT_EQ(own.cut, other.cut);
  std::optional<Place> place = cuts.find({own}, {140, 196});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 2u); // of coordinates 1, 0
  EXPECT_EQ(place->bytes, (ByteRange{140, 164}));
  place = cuts.find({other}, {140, 196});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 0u);
  EXPECT_EQ(place->bytes, (ByteRange{140, 196}));
}

TEST(Cuts, RanksAreAMemberOrNot) {
  plan::PlanT plan = meshOfSix();
  Mesh mesh(plan);
  Cuts cuts(mesh);
  RankTest second{0, 1, true}, others{0, 1, false}, third{0, 2, true};
  std::optional<Place> place = cuts.find(*cuts.conditionOf({second}), {0, 8});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 2u); // of coordinates 1, 0
  EXPECT_EQ(place->bytes, (ByteRange{0, 8}));
  EXPECT_FALSE(cuts.conditionOf({second, others}));
  EXPECT_FALSE(cuts.isPossible(*cuts.conditionOf({second, third}), {0, 8}));
  EXPECT_TRUE(cuts.isPossible(*cuts.conditionOf({second, {1, 1, true}}), {0, 8}));
  Access access = partOfAll(1, Extent::ownPart, 96); // of those that own, the part of each
  access.ranks = {third};
  cuts.visit(access, 0, [&](ByteRange bytes, const Condition &condition) {
    EXPECT_EQ(condition.size(), 2u);
    std::optional<Place> place = cuts.find(condition, bytes);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->rank, 4u);
    EXPECT_EQ(place->bytes, (ByteRange{0, 48}));
  });
}

TEST(Cuts, APartOfBothAxesIsWithinThatOfOne) {
  plan::PlanT plan = meshOfSix();
  Mesh mesh(plan);
  Cuts cuts(mesh);
  Literal own = literalOf(cuts, partOfAll(2, Extent::ownPart, 96), 0);
  Literal other = literalOf(cuts, partOfAll(0, Extent::otherParts, 96), 0);
  EXPECT_FALSE(cuts.isPossible({own, other}, {0, 96}));
  own = literalOf(cuts, partOfAll(2, Extent::ownPart, 960), 0); // cut points are rounded
  other = literalOf(cuts, partOfAll(1, Extent::otherParts, 960), 0);
  EXPECT_TRUE(cuts.isPossible({own, other}, {0, 960}));
}

/// Random touches of a map, and the same of one state for each byte of each rank.
class Both {
public:
  explicit Both(uint64_t seed) : random(seed), cells(mesh.devices(), std::vector<int>(size)) {}

  void step(int value) {
    Access access = randomAccess();
    uint64_t base = access.extent == Extent::ranges ? 0 : random() % 3 * 16;
    std::set<int> expected, found;
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
      for (ByteRange range : rangesOf(access, mesh, rank))
        for (uint64_t byte = range.begin; byte < range.end; ++byte) {
          expected.insert(cells[rank][base + byte]);
          if (access.write)
            cells[rank][base + byte] = value;
        }
    cuts.visit(access, base, [&](ByteRange bytes, const Condition &condition) {
      map.visit(bytes, condition, [&](ByteRange piece, const CaseMap<int>::Case &each) {
        found.insert(each.state);
        expectPlace(piece, each, access.write ? -1 : each.state);
      });
      if (access.write)
        map.assign(bytes, condition, value);
    });
    EXPECT_EQ(found, expected);
    EXPECT_FALSE(map.excess());
  }

private:
  static constexpr uint64_t size = 160;

  Access randomAccess() {
    Access access = randomBytes();
    access.write = random() % 2;
    for (uint32_t count = uint32_t(random() % 6); count > 3; --count) // one of three has a test or two
      access.ranks.push_back({uint32_t(random() % 2), uint32_t(random() % 2), random() % 2 == 0});
    return access;
  }

  Access randomBytes() {
    if (random() % 2) {
      uint64_t begin = random() % size;
      return {.buffer = 0, .write = false, .ranges = {{begin, begin + 1 + random() % (size - begin)}}};
    }
    return partOfAll(uint32_t(random() % 3), random() % 2 ? Extent::ownPart : Extent::otherParts,
                     random() % 2 ? 96 : 128);
  }

  /// A case that is read has a byte of a rank in its state.
  void expectPlace(ByteRange bytes, const CaseMap<int>::Case &each, int state) const {
    std::optional<Place> place = cuts.find(each.condition, bytes);
    ASSERT_TRUE(place);
    if (state >= 0)
      EXPECT_EQ(cells[place->rank][place->bytes.begin], state);
  }

  plan::PlanT plan = meshOfSix();
  Mesh mesh{plan};
  Cuts cuts{mesh};
  CaseMap<int> map{cuts, size};
  std::mt19937 random;
  std::vector<std::vector<int>> cells; // of each rank
};

TEST(CaseMap, VisitsTheStatesOfAllBytesOfAllRanks) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Both both(seed);
    for (int step = 1; step <= 40; ++step)
      both.step(step);
    if (testing::Test::HasFailure())
      return;
  }
}

/// Eight cuts of the same bytes that no command writes are too many.
TEST(CaseMap, SaysWhereCasesAreTooMany) {
  plan::PlanT plan = meshOfSix();
  Mesh mesh(plan);
  Cuts cuts(mesh);
  CaseMap<int> map(cuts, 100000);
  for (int64_t count = 4096; count < 4096 + 60 * 400 && !map.excess(); count += 400)
    cuts.visit(partOfAll(2, Extent::ownPart, count), 0, [&](ByteRange bytes, const Condition &condition) {
      map.visit(bytes, condition, [](ByteRange, const CaseMap<int>::Case &) {});
    });
  EXPECT_TRUE(map.excess());
}

} // namespace
} // namespace epl::runtime::test
