//===- PlacementTest.cpp - Where pending sums are completed ---------------===//

#include "passes/shard/Placement.h"

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
  /// Likewise, of an op of another work.
  unsigned cross(mlir::ArrayRef<unsigned> inputs, bool illegal = false, int64_t bytes = kBytes) {
    unsigned output = flow(inputs, illegal, bytes);
    ++values[output].crossings;
    return output;
  }
  std::vector<unsigned> late() const { return toList(placeLate(*this)); }
  std::vector<unsigned> sums() const { return toList(placeSums(*this)); }
  /// The bytes that completing `completed` moves.
  int64_t getBytes(const BitVector &completed) const {
    int64_t bytes = 0;
    for (unsigned value : completed.set_bits())
      bytes += values[value].bytes;
    return bytes;
  }
  static std::vector<unsigned> toList(const BitVector &bits) {
    return std::vector<unsigned>(bits.set_bits_begin(), bits.set_bits_end());
  }

  static constexpr int64_t kBytes = 4;

private:
  unsigned add(PartialValue value) {
    values.push_back(value);
    return values.size() - 1;
  }
};

/// Values of random sizes and works.
Graph makeRandomGraph(unsigned seed) {
  std::mt19937 random(seed);
  Graph graph;
  for (unsigned size = 1 + random() % 30; graph.values.size() < size;) {
    bool illegal = random() % 4 == 0;
    llvm::SmallSetVector<unsigned, 4> inputs;
    for (unsigned count = graph.values.empty() ? 0 : random() % 4; count > 0; --count)
      inputs.insert(random() % graph.values.size());
    int64_t bytes = 1 << random() % 3;
    if (inputs.empty())
      graph.born(illegal);
    else if (random() % 4 == 0)
      graph.cross(inputs.getArrayRef(), illegal, bytes);
    else
      graph.flow(inputs.getArrayRef(), illegal, bytes);
  }
  return graph;
}

/// No use that needs a complete value gets a partial one, no flow has both kinds of inputs, and nothing is
/// completed that is complete.
void expectLegal(const PlacementProblem &problem, const BitVector &completed) {
  BitVector pending = getPending(problem, completed);
  auto isPartial = [&](unsigned value) { return pending.test(value) && !completed.test(value); };
  for (unsigned value = 0; value < problem.values.size(); ++value) {
    EXPECT_FALSE(problem.values[value].illegal && isPartial(value)) << "value " << value;
    EXPECT_TRUE(!completed.test(value) || pending.test(value)) << "value " << value;
  }
  for (const PlacementProblem::Flow &flow : problem.flows)
    EXPECT_EQ(llvm::any_of(flow.inputs, isPartial), llvm::all_of(flow.inputs, isPartial));
}

TEST(PlaceLate, CompletesNothingThatNobodyNeeds) {
  Graph graph;
  graph.flow({graph.born()});
  EXPECT_THAT(graph.late(), IsEmpty());
}

TEST(PlaceLate, TravelsToTheLastLinearOp) {
  Graph graph;
  unsigned last = graph.flow({graph.flow({graph.born()})}, /*illegal=*/true);
  EXPECT_THAT(graph.late(), ElementsAre(last));
}

TEST(PlaceLate, CompletesAValueOnceForAllItsUses) {
  Graph graph;
  unsigned value = graph.born(/*illegal=*/true);
  graph.flow({value}, /*illegal=*/true);
  EXPECT_THAT(graph.late(), ElementsAre(value));
}

TEST(PlaceLate, SumsFanInBeforeTheyAreCompleted) {
  Graph graph;
  unsigned sum = graph.flow({graph.born(), graph.born(), graph.born()}, /*illegal=*/true);
  EXPECT_THAT(graph.late(), ElementsAre(sum));
}

TEST(PlaceLate, TiesTheOperandsOfASum) {
  Graph graph;
  unsigned a = graph.born(/*illegal=*/true), b = graph.born(), c = graph.born();
  graph.flow({a, b});
  graph.flow({b, c});
  EXPECT_THAT(graph.late(), ElementsAre(a, b, c));
}

TEST(PlaceLate, CompletesAnInputThatFlowsFromSomethingElse) {
  Graph graph;
  unsigned a = graph.born(/*illegal=*/true);
  unsigned early = graph.born();
  unsigned late = graph.flow({early});
  graph.flow({a, late}, /*illegal=*/true);
  EXPECT_THAT(graph.late(), ElementsAre(a, late));
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

TEST(PlaceSums, TakesNoMoreSumsForFewerBytes) {
  Graph graph;
  unsigned all = graph.flow({graph.born(), graph.born()}, /*illegal=*/true, 3 * Graph::kBytes);
  EXPECT_THAT(graph.sums(), ElementsAre(all));
}

TEST(PlaceSums, TriesAgainWhereAnotherMadeRoom) {
  Graph graph; // `b` is no gain, for it takes `wideA` along, until `a` is completed
  unsigned a = graph.born(/*illegal=*/false, 1);
  unsigned wideA = graph.flow({a}, /*illegal=*/false, 8);
  unsigned b = graph.born(/*illegal=*/false, 3);
  unsigned wideB = graph.flow({b}, /*illegal=*/false, 8);
  graph.flow({wideA, wideB}, /*illegal=*/true, 5);
  graph.flow({wideA, wideB}, /*illegal=*/true, 5);
  EXPECT_THAT(graph.sums(), ElementsAre(a, b));
}

TEST(PlaceSums, SeesAGainHundredsOfOpsAwayButNotThousands) {
  for (unsigned length : {900, 2000}) {
    Graph graph;
    unsigned start = graph.born();
    unsigned last = start;
    for (unsigned i = 0; i < length; ++i)
      last = graph.flow({last}, /*illegal=*/i + 1 == length, 2 * Graph::kBytes);
    EXPECT_THAT(graph.sums(), ElementsAre(length == 900 ? start : last));
  }
}

TEST(Placement, IsLegalOnRandomGraphs) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = makeRandomGraph(seed);
    expectLegal(graph, placeLate(graph));
    expectLegal(graph, placeSums(graph));
  }
}

TEST(PlaceSums, NeverCostsMoreThanLate) {
  unsigned cheaper = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = makeRandomGraph(seed);
    BitVector late = placeLate(graph), sums = placeSums(graph);
    EXPECT_LE(sums.count(), late.count());
    EXPECT_LE(graph.getBytes(sums), graph.getBytes(late));
    cheaper += graph.getBytes(sums) < graph.getBytes(late);
  }
  EXPECT_GT(cheaper, 0);
}
} // namespace
