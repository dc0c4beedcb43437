//===- PlacementTest.cpp - Where pending sums are completed ---------------===//

#include "passes/shard/Placement.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir::epl;

using llvm::BitVector;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {
/// A problem in few words. Values are numbered in the order in which they are added.
struct Graph : PlacementProblem {
  unsigned born(bool illegal = false) { return add(true, illegal); }
  /// The value of an op that reads `inputs`.
  unsigned flow(mlir::ArrayRef<unsigned> inputs, bool illegal = false) {
    unsigned output = add(false, illegal);
    flows.push_back({mlir::SmallVector<unsigned>(inputs), {output}});
    return output;
  }
  std::vector<unsigned> late() const { return toList(placeLate(*this)); }
  static std::vector<unsigned> toList(const BitVector &bits) {
    return std::vector<unsigned>(bits.set_bits_begin(), bits.set_bits_end());
  }

private:
  unsigned add(bool born, bool illegal) {
    values.push_back({4, born, illegal});
    return values.size() - 1;
  }
};

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

TEST(PlaceLate, IsLegalOnRandomGraphs) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Graph graph;
    for (unsigned size = 1 + random() % 30; graph.values.size() < size;) {
      bool illegal = random() % 4 == 0;
      mlir::SmallVector<unsigned> inputs;
      for (unsigned count = graph.values.empty() ? 0 : random() % 4; inputs.size() < count;)
        inputs.push_back(random() % graph.values.size());
      if (inputs.empty())
        graph.born(illegal);
      else
        graph.flow(inputs, illegal);
    }
    expectLegal(graph, placeLate(graph));
  }
}
} // namespace
