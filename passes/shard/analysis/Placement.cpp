//===- Placement.cpp - Where pending sums are completed -------------------===//
//
// The problem as a minimum cut. Every value has two vertices: it is made partial, and it stays partial for
// its uses. They stand on the side of the source if that is so; an edge between them, which is cut where the
// value is completed, has the cost of completing it. All inputs of a flow and its outputs are partial or none
// is: the vertices of inputs that stay partial and of outputs that are made partial are one. Values that are
// born partial hang on the source, those with an illegal use on the sink. A flow that costs more on partial
// values hangs on the sink by that cost. Reference: docs/design.md, 4.3, placement;
// Boykov and Kolmogorov, "An experimental comparison of min-cut/max-flow algorithms", PAMI 2004.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/Placement.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

using namespace mlir;
using namespace mlir::epl;

using llvm::BitVector;

namespace {
using Flow = PlacementProblem::Flow;
using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using VertexProperties =
    boost::property<boost::vertex_color_t, boost::default_color_type,
                    boost::property<boost::vertex_distance_t, int64_t,
                                    boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>;
using EdgeProperties =
    boost::property<boost::edge_capacity_t, int64_t,
                    boost::property<boost::edge_residual_capacity_t, int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>;
using Network =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, VertexProperties, EdgeProperties>;

/// The network of a problem and its latest minimum cut.
class Cut {
public:
  explicit Cut(const PlacementProblem &problem);

  /// Whether the value is completed right after it was made partial.
  bool isCompleted(unsigned value) const { return isPending(getMade(value)) && !isPending(getKept(value)); }

private:
  unsigned getMade(unsigned value) const { return classes[2 * value]; }
  unsigned getKept(unsigned value) const { return classes[2 * value + 1]; }
  unsigned getSource() const { return classes.getNumClasses(); }
  unsigned getSink() const { return classes.getNumClasses() + 1; }
  bool isPending(unsigned vertex) const { return !beforeSink.test(vertex); }

  void joinFlows();
  void addEdges();
  void addEdge(unsigned from, unsigned to, int64_t capacity, int64_t back);
  void findBeforeSink();

  const PlacementProblem &problem;
  llvm::IntEqClasses classes; ///< the vertices of values, two for each
  Network network;
  BitVector beforeSink; ///< the vertices from which more could flow to the sink
};

/// The capacities of values: cost first, then how often sums have gone over to another work.
class Costs {
public:
  explicit Costs(const PlacementProblem &problem) : bytesOfASum(problem.bytesOfASum) {
    int64_t cost = 0, crossings = 0;
    for (const PlacementProblem::PartialValue &value : problem.values) {
      cost += getCost(value);
      crossings += value.crossings;
    }
    for (const Flow &flow : problem.flows)
      cost += flow.bytes;
    scale = std::clamp<int64_t>(kMost / std::max<int64_t>(cost, 1), 1, crossings + 1);
    total = cost * scale + crossings;
  }

  int64_t get(const PlacementProblem::PartialValue &value) const {
    return getCost(value) * scale + value.crossings;
  }
  int64_t get(const Flow &flow) const { return flow.bytes * scale; }
  /// More than all values and flows together.
  int64_t getUnlimited() const { return total + 1; }

private:
  int64_t getCost(const PlacementProblem::PartialValue &value) const { return value.bytes + bytesOfASum; }
  /// Leaves room for flows in both directions of an edge.
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 8;

  int64_t bytesOfASum, scale, total;
};
} // namespace

Cut::Cut(const PlacementProblem &problem) : problem(problem), classes(2 * problem.values.size()) {
  joinFlows();
  network = Network(classes.getNumClasses() + 2);
  addEdges();
  boost::boykov_kolmogorov_max_flow(network, getSource(), getSink());
  findBeforeSink();
}

void Cut::joinFlows() {
  for (const Flow &flow : problem.flows) {
    unsigned pending = 2 * flow.inputs.front() + 1;
    for (unsigned input : flow.inputs)
      classes.join(pending, 2 * input + 1);
    for (unsigned output : flow.outputs)
      classes.join(pending, 2 * output);
  }
  classes.compress();
}

void Cut::addEdges() {
  Costs costs(problem);
  for (auto [index, value] : llvm::enumerate(problem.values)) {
    if (value.born)
      addEdge(getSource(), getMade(index), costs.getUnlimited(), 0);
    if (value.illegal)
      addEdge(getKept(index), getSink(), costs.getUnlimited(), 0);
    if (getMade(index) != getKept(index)) // What stays partial was made partial: no way back.
      addEdge(getMade(index), getKept(index), costs.get(value), costs.getUnlimited());
  }
  for (const Flow &flow : problem.flows)
    if (flow.bytes > 0)
      addEdge(getKept(flow.inputs.front()), getSink(), costs.get(flow), 0);
}

void Cut::addEdge(unsigned from, unsigned to, int64_t capacity, int64_t back) {
  Traits::edge_descriptor edge = boost::add_edge(from, to, network).first;
  Traits::edge_descriptor reverse = boost::add_edge(to, from, network).first;
  boost::put(boost::edge_capacity, network, edge, capacity);
  boost::put(boost::edge_capacity, network, reverse, back);
  boost::put(boost::edge_reverse, network, edge, reverse);
  boost::put(boost::edge_reverse, network, reverse, edge);
}

/// Of all minimum cuts the one next to the sink: sums travel as far as they can.
void Cut::findBeforeSink() {
  beforeSink.resize(boost::num_vertices(network));
  beforeSink.set(getSink());
  SmallVector<unsigned> reached = {getSink()};
  while (!reached.empty()) {
    unsigned vertex = reached.pop_back_val();
    for (Traits::edge_descriptor edge : llvm::make_range(boost::out_edges(vertex, network))) {
      unsigned before = boost::target(edge, network);
      Traits::edge_descriptor reverse = boost::get(boost::edge_reverse, network, edge);
      if (beforeSink.test(before) || boost::get(boost::edge_residual_capacity, network, reverse) == 0)
        continue;
      beforeSink.set(before);
      reached.push_back(before);
    }
  }
}

/// Whether flows read values of the problem that are born, or outputs of flows before.
[[maybe_unused]] static bool isWellFormed(const PlacementProblem &problem) {
  BitVector made(problem.values.size());
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.born)
      made.set(index);
  for (const Flow &flow : problem.flows) {
    if (!llvm::all_of(flow.inputs, [&](unsigned input) { return input < made.size() && made.test(input); }))
      return false;
    for (unsigned output : flow.outputs) {
      if (output >= made.size())
        return false;
      made.set(output);
    }
  }
  return made.all();
}

BitVector mlir::epl::placeSums(const PlacementProblem &problem) {
  assert(isWellFormed(problem) && "every value is born or an output of a flow before its readers");
  Cut cut(problem);
  BitVector completed(problem.values.size());
  for (unsigned value = 0; value < problem.values.size(); ++value)
    if (cut.isCompleted(value))
      completed.set(value);
  return completed;
}

BitVector mlir::epl::getPending(const PlacementProblem &problem, const BitVector &completed) {
  assert(completed.size() == problem.values.size() && "a bit for each value");
  BitVector pending(problem.values.size());
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.born)
      pending.set(index);
  for (const Flow &flow : problem.flows)
    if (llvm::all_of(flow.inputs,
                     [&](unsigned input) { return pending.test(input) && !completed.test(input); }))
      for (unsigned output : flow.outputs)
        pending.set(output);
  return pending;
}
