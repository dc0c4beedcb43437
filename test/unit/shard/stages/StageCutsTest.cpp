//===- StageCutsTest.cpp - Where a chain of blocks is cut -----------------===//

#include "passes/shard/stages/StageCuts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>
#include <random>

using namespace mlir::epl;
using testing::ElementsAre;

namespace {
StageDevices makeDevices(std::vector<double> seconds) { return {std::move(seconds), 0.01, 0.1}; }

/// What one block hands to the next.
ChainValue link(unsigned maker, double bytes) { return {maker, {maker + 1}, bytes, 1, true}; }

/// By the definition, without the search.
StageCuts evaluate(const StageChain &chain, const std::vector<unsigned> &ends) {
  StageCuts cuts{ends, 0, 0};
  unsigned begin = 0;
  for (unsigned stage = 0; stage < ends.size(); ++stage) {
    StageTime time = getStageTime(chain, stage, begin, ends[stage]);
    cuts.seconds = std::max(cuts.seconds, time.getTotal());
    cuts.bytes += time.bytes;
    begin = ends[stage];
  }
  return cuts;
}

/// Every way to cut the chain.
std::vector<StageCuts> enumerate(const StageChain &chain) {
  std::vector<StageCuts> all;
  std::vector<unsigned> ends;
  std::function<void(unsigned)> choose = [&](unsigned begin) {
    if (ends.size() + 1 == chain.stages.size()) {
      ends.push_back(chain.numBlocks);
      all.push_back(evaluate(chain, ends));
      ends.pop_back();
      return;
    }
    for (unsigned end = begin + 1; end < chain.numBlocks; ++end) {
      ends.push_back(end);
      choose(end);
      ends.pop_back();
    }
  };
  choose(0);
  return all;
}

/// Numbers that are sums of eighths, so that equal times are equal in any order of addition.
StageChain makeRandomChain(std::mt19937 &random) {
  auto draw = [&](unsigned least, unsigned most) {
    return std::uniform_int_distribution<unsigned>(least, most)(random);
  };
  unsigned numStages = draw(1, 4);
  StageChain chain{numStages + draw(0, 5), {}, {}};
  for (unsigned stage = 0; stage < numStages; ++stage) {
    StageDevices devices{{}, draw(0, 3) / 8.0, draw(0, 2) / 8.0};
    for (unsigned block = 0; block < chain.numBlocks; ++block)
      devices.seconds.push_back(draw(1, 24));
    chain.stages.push_back(devices);
  }
  for (unsigned maker = 0; maker + 1 < chain.numBlocks; ++maker)
    for (unsigned count = draw(1, 2); count > 0; --count) {
      ChainValue value{maker, {}, double(draw(1, 16)), double(draw(1, 4)), draw(0, 3) > 0};
      for (unsigned reader = maker + 1; reader < chain.numBlocks; ++reader)
        if (draw(0, 2) == 0 || (value.readers.empty() && reader + 1 == chain.numBlocks))
          value.readers.push_back(reader);
      chain.values.push_back(value);
    }
  return chain;
}

bool isLess(const StageCuts &a, const StageCuts &b) {
  return std::pair(a.seconds, a.bytes) < std::pair(b.seconds, b.bytes);
}
} // namespace

TEST(StageCuts, ChainsOfUnequalBlocksAreBalanced) {
  StageChain chain{5, {makeDevices({1, 1, 1, 1, 4}), makeDevices({1, 1, 1, 1, 4})}, {}};
  for (unsigned block = 0; block < 4; ++block)
    chain.values.push_back(link(block, 1));
  EXPECT_THAT(findStageCuts(chain)->ends, ElementsAre(4, 5));
}

TEST(StageCuts, OfEqualTimesTheFewestBytesAreSent) {
  StageChain chain{4, {{{4, 1, 1, 9}, 0, 0}, {{4, 1, 1, 9}, 0, 0}}, {link(0, 8), link(1, 2), link(2, 4)}};
  EXPECT_THAT(findStageCuts(chain)->ends, ElementsAre(3, 4)); // only there the largest is 9
  chain.stages = {{{4, 1, 1, 4}, 0, 0}, {{4, 1, 1, 4}, 0, 0}};
  EXPECT_THAT(findStageCuts(chain)->ends, ElementsAre(2, 4));
}

TEST(StageCuts, FasterDevicesGetMoreBlocks) {
  StageChain chain{6, {{{1, 1, 1, 1, 1, 1}, 0, 0}, {{2, 2, 2, 2, 2, 2}, 0, 0}}, {}};
  EXPECT_THAT(findStageCuts(chain)->ends, ElementsAre(4, 6));
}

TEST(StageCuts, FewerBlocksThanStages) {
  EXPECT_FALSE(findStageCuts({1, {makeDevices({1}), makeDevices({1})}, {}}));
  StageChain chain{2, {makeDevices({1, 1}), makeDevices({1, 1})}, {}};
  EXPECT_FALSE(findNextBestCuts(chain, *findStageCuts(chain)));
}

TEST(StageCuts, IsTheBestOfAllCuts) {
  std::mt19937 random(1);
  for (unsigned run = 0; run < 3000; ++run) {
    StageChain chain = makeRandomChain(random);
    std::vector<StageCuts> all = enumerate(chain);
    std::optional<StageCuts> found = findStageCuts(chain);
    ASSERT_TRUE(found);
    StageCuts best = *std::min_element(all.begin(), all.end(), isLess);
    ASSERT_EQ(found->seconds, best.seconds) << "run " << run;
    ASSERT_EQ(found->bytes, best.bytes) << "run " << run;
    ASSERT_FALSE(isLess(evaluate(chain, found->ends), best) || isLess(best, evaluate(chain, found->ends)));
    std::erase_if(all, [&](const StageCuts &cuts) { return cuts.ends == found->ends; });
    std::optional<StageCuts> next = findNextBestCuts(chain, *found);
    ASSERT_EQ(next.has_value(), !all.empty());
    if (next) {
      best = *std::min_element(all.begin(), all.end(), isLess);
      ASSERT_EQ(next->seconds, best.seconds) << "run " << run;
      ASSERT_EQ(next->bytes, best.bytes) << "run " << run;
    }
  }
}
