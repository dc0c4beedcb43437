//===- PlacementTest.cpp - Where pending sums are completed ---------------===//

#include "passes/shard/analysis/Placement.h"

#include "llvm/ADT/SetVector.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir::epl;

using llvm::BitVector;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {
/// A problem in few words. Values are numbered in the order in which they are added; all are of one size and
/// of one work unless a test says otherwise.
struct Graph : PlacementProblem {
  Graph() { bytesOfASum = kSum; }
  unsigned born(bool illegal = false, int64_t bytes = kBytes) { return add({bytes, 0, true, illegal}); }
  /// The value of an op that reads `inputs`.
  unsigned flow(mlir::ArrayRef<unsigned> inputs, bool illegal = false, int64_t bytes = kBytes) {
    int64_t crossings = 0;
    for (unsigned input : inputs)
      crossings = std::max(crossings, values[input].crossings);
    unsigned output = add({bytes, crossings, false, illegal});
    flows.push_back({mlir::SmallVector<unsigned>(inputs), {output}});
    return output;
  }
  /// Likewise, of an op that also reads a complete value, of which it makes zeros on members for `cost`
  /// bytes.
  unsigned mask(mlir::ArrayRef<unsigned> inputs, int64_t cost, bool illegal = false) {
    unsigned output = flow(inputs, illegal);
    flows.back().bytes = cost;
    return output;
  }
  /// Likewise, of an op of another work.
  unsigned cross(mlir::ArrayRef<unsigned> inputs, bool illegal = false, int64_t bytes = kBytes) {
    unsigned output = flow(inputs, illegal, bytes);
    ++values[output].crossings;
    return output;
  }
  std::vector<unsigned> sums() const { return toList(placeSums(*this)); }
  static std::vector<unsigned> toList(const BitVector &bits) {
    return std::vector<unsigned>(bits.set_bits_begin(), bits.set_bits_end());
  }

  static constexpr int64_t kBytes = 4, kSum = 64;

private:
  unsigned add(PartialValue value) {
    values.push_back(value);
    return values.size() - 1;
  }
};

/// Values of random sizes and works.
Graph makeRandomGraph(unsigned seed, unsigned most) {
  std::mt19937 random(seed);
  Graph graph;
  for (unsigned size = 1 + random() % most; graph.values.size() < size;) {
    bool illegal = random() % 4 == 0;
    llvm::SmallSetVector<unsigned, 4> inputs;
    for (unsigned count = graph.values.empty() ? 0 : random() % 4; count > 0; --count)
      inputs.insert(random() % graph.values.size());
    int64_t bytes = 32 << random() % 3;
    if (inputs.empty())
      graph.born(illegal);
    else if (random() % 4 == 0)
      graph.cross(inputs.getArrayRef(), illegal, bytes);
    else
      graph.flow(inputs.getArrayRef(), illegal, bytes);
    if (!inputs.empty() && random() % 4 == 0)
      graph.flows.back().bytes = 16 << random() % 4;
  }
  return graph;
}

/// No use that needs a complete value gets a partial one, no flow has both kinds of inputs, and nothing is
/// completed that is complete.
bool isLegal(const PlacementProblem &problem, const BitVector &completed) {
  BitVector pending = getPending(problem, completed);
  auto isPartial = [&](unsigned value) { return pending.test(value) && !completed.test(value); };
  for (unsigned value = 0; value < problem.values.size(); ++value)
    if ((problem.values[value].illegal && isPartial(value)) ||
        (completed.test(value) && !pending.test(value)))
      return false;
  return llvm::all_of(problem.flows, [&](const PlacementProblem::Flow &flow) {
    return llvm::any_of(flow.inputs, isPartial) == llvm::all_of(flow.inputs, isPartial);
  });
}

TEST(PlaceSums, CompletesNothingThatNobodyNeedsInItsWork) {
  Graph graph;
  graph.flow({graph.born()});
  EXPECT_THAT(graph.sums(), IsEmpty());
}

TEST(PlaceSums, TravelsToTheLastLinearOp) {
  Graph graph;
  unsigned last = graph.flow({graph.flow({graph.born()})}, /*illegal=*/true);
  EXPECT_THAT(graph.sums(), ElementsAre(last));
}

TEST(PlaceSums, CompletesAValueOnceForAllItsUses) {
  Graph graph;
  unsigned value = graph.born(/*illegal=*/true);
  graph.flow({value}, /*illegal=*/true);
  EXPECT_THAT(graph.sums(), ElementsAre(value));
}

TEST(PlaceSums, TiesTheOperandsOfASum) {
  Graph graph;
  unsigned a = graph.born(/*illegal=*/true), b = graph.born(), c = graph.born();
  graph.flow({a, b});
  graph.flow({b, c});
  EXPECT_THAT(graph.sums(), ElementsAre(a, b, c));
}

TEST(PlaceSums, CompletesAnInputThatFlowsFromSomethingElse) {
  Graph graph;
  unsigned a = graph.born(/*illegal=*/true);
  unsigned early = graph.born();
  unsigned late = graph.flow({early});
  graph.flow({a, late}, /*illegal=*/true);
  EXPECT_THAT(graph.sums(), ElementsAre(a, late));
}

TEST(GetPending, IsWhatFlowsFromWhatIsNotCompleted) {
  Graph graph;
  unsigned a = graph.born(), b = graph.flow({a}), c = graph.flow({b});
  BitVector completed(3);
  EXPECT_THAT(Graph::toList(getPending(graph, completed)), ElementsAre(a, b, c));
  completed.set(b);
  EXPECT_THAT(Graph::toList(getPending(graph, completed)), ElementsAre(a, b));
}

TEST(PlaceSums, CompletesNothingThatNobodyNeeds) {
  Graph graph;
  graph.cross({graph.born()});
  EXPECT_THAT(graph.sums(), IsEmpty());
}

TEST(PlaceSums, TravelsToTheEndOfTheWorkThatMakesTheSum) {
  Graph graph;
  unsigned last = graph.flow({graph.flow({graph.born()})});
  graph.flow({graph.cross({graph.cross({last})})}, /*illegal=*/true);
  EXPECT_THAT(graph.sums(), ElementsAre(last));
}

TEST(PlaceSums, GoesOnToWhatIsSmaller) {
  Graph graph;
  unsigned small = graph.cross({graph.born()}, /*illegal=*/false, Graph::kBytes / 2);
  graph.cross({small}, /*illegal=*/true, Graph::kBytes);
  EXPECT_THAT(graph.sums(), ElementsAre(small));
}

TEST(PlaceSums, ComesBackFromWhatIsLarger) {
  Graph graph;
  unsigned small = graph.born();
  unsigned large = graph.flow({small}, /*illegal=*/false, 2 * Graph::kBytes);
  graph.flow({large}, /*illegal=*/true, 2 * Graph::kBytes);
  EXPECT_THAT(graph.sums(), ElementsAre(small));
}

TEST(PlaceSums, SumsFanInBeforeTheyAreCompleted) {
  Graph graph;
  unsigned sum = graph.cross({graph.born(), graph.born()});
  graph.cross({sum}, /*illegal=*/true);
  EXPECT_THAT(graph.sums(), ElementsAre(sum));
}

TEST(PlaceSums, CompletesBeforeFanOut) {
  Graph graph;
  unsigned source = graph.born();
  graph.flow({source}, /*illegal=*/true);
  graph.flow({source}, /*illegal=*/true);
  EXPECT_THAT(graph.sums(), ElementsAre(source));
}

TEST(PlaceSums, TakesTwoSumsWhereThatIsLess) {
  constexpr int64_t kSum = Graph::kSum;
  for (int64_t bytes : {kSum, 2 * kSum}) {
    Graph graph;
    unsigned a = graph.born(/*illegal=*/false, bytes), b = graph.born(/*illegal=*/false, bytes);
    unsigned all = graph.flow({a, b}, /*illegal=*/true, 2 * bytes + kSum + 1);
    EXPECT_THAT(graph.sums(), ElementsAre(a, b));
    graph.values[all].bytes = 2 * bytes + kSum; // As much: the later one.
    EXPECT_THAT(graph.sums(), ElementsAre(all));
  }
}

TEST(PlaceSums, SeesAGainThatTakesSeveralSteps) {
  Graph graph; // Neither `a` nor `b` alone is a gain.
  unsigned a = graph.born(/*illegal=*/false, 100);
  unsigned wideA = graph.flow({a}, /*illegal=*/false, 800);
  unsigned b = graph.born(/*illegal=*/false, 300);
  unsigned wideB = graph.flow({b}, /*illegal=*/false, 800);
  graph.flow({wideA, wideB}, /*illegal=*/true, 500);
  graph.flow({wideA, wideB}, /*illegal=*/true, 500);
  EXPECT_THAT(graph.sums(), ElementsAre(a, b));
}

/// A block of a transformer, split: the gradients of query, key and value are born apart, are added, go
/// through what is linear in a layer norm and are needed complete in several places there. One sum, where
/// they meet.
TEST(PlaceSums, MeetsWhereMegatronSums) {
  Graph graph;
  unsigned meeting = graph.flow({graph.flow({graph.born(), graph.born()}), graph.born()});
  unsigned scaled = graph.flow({meeting});
  graph.flow({scaled}, /*illegal=*/true, 1); // The mean over the features of a row.
  graph.flow({graph.flow({scaled})}, /*illegal=*/true);
  graph.flow({meeting}, /*illegal=*/true, 1);
  EXPECT_THAT(graph.sums(), ElementsAre(meeting));
}

TEST(PlaceSums, SeesAGainThousandsOfOpsAway) {
  Graph graph;
  unsigned start = graph.born();
  unsigned last = start;
  for (unsigned i = 0; i < 100000; ++i)
    last = graph.flow({last}, /*illegal=*/i == 99999, 2 * Graph::kBytes);
  EXPECT_THAT(graph.sums(), ElementsAre(start));
}

TEST(PlaceSums, MasksWhereThatSavesASum) {
  Graph graph; // a + complete + b
  unsigned all = graph.flow({graph.mask({graph.born()}, 2 * Graph::kBytes), graph.born()}, /*illegal=*/true);
  EXPECT_THAT(graph.sums(), ElementsAre(all));
}

TEST(PlaceSums, MasksNothingForNoGain) {
  Graph graph;
  unsigned born = graph.born();
  graph.flow({graph.mask({born}, 1)}, /*illegal=*/true);
  EXPECT_THAT(graph.sums(), ElementsAre(born));
}

/// Every legal choice of a small problem, tried.
void expectBest(const Graph &graph, const BitVector &found) {
  auto getCost = [&](const BitVector &completed) {
    int64_t cost = 0, crossings = 0;
    for (unsigned value : completed.set_bits()) {
      cost += graph.values[value].bytes + graph.bytesOfASum;
      crossings += graph.values[value].crossings;
    }
    BitVector pending = getPending(graph, completed);
    for (const PlacementProblem::Flow &flow : graph.flows)
      if (unsigned input = flow.inputs.front(); pending.test(input) && !completed.test(input))
        cost += flow.bytes;
    return std::pair(cost, crossings);
  };
  BitVector most = getPending(graph, found);
  for (uint64_t choice = 0; choice < uint64_t(1) << graph.values.size(); ++choice) {
    BitVector completed(graph.values.size());
    for (unsigned value = 0; value < graph.values.size(); ++value)
      if (choice >> value & 1)
        completed.set(value);
    if (!isLegal(graph, completed))
      continue;
    ASSERT_GE(getCost(completed), getCost(found));
    if (getCost(completed) == getCost(found))
      EXPECT_LE(getPending(graph, completed).count(), most.count()) << "travels further";
  }
}

TEST(PlaceSums, IsBestOnSmallGraphs) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = makeRandomGraph(seed, 9);
    expectBest(graph, placeSums(graph));
  }
}

TEST(PlaceSums, IsLegalOnRandomGraphs) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = makeRandomGraph(seed, 60);
    EXPECT_TRUE(isLegal(graph, placeSums(graph)));
  }
}
} // namespace
