#include "runtime/device/cuda/pieces/PieceGraphs.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime::cuda {

PieceGraphs::PieceGraphs(const Cards &cards, const StepWork &work, std::span<const Stream> lanes)
    : cards(cards), api(cards.driver()), work(work), lanes(lanes), calls(api, work) {
  cards.use(0);
  capturing = makeStream(api);
  begun = makeEvent(api);
}

//===----------------------------------------------------------------------===//
// Which there are
//===----------------------------------------------------------------------===//

/// One that has the same nodes as before stays, as an update takes less than making it anew.
void PieceGraphs::addGraph(uint32_t piece, const std::vector<uint32_t> &nodes) {
  PieceGraph &added = graphs.emplace_back(PieceGraph{piece, nodes});
  for (uint32_t node : nodes)
    graphOfNode[node] = uint32_t(graphs.size() - 1);
  added.kernels.resize(nodes.size());
}

void PieceGraphs::reset(const LaunchOrder &launches, const LaunchOrder &each) {
  this->each = &each;
  std::vector<PieceGraph> old = std::exchange(graphs, {});
  std::span<const StepNode> nodes = work.nodes();
  graphOfLaunch.assign(launches.launches.size(), kNowhere);
  graphOfNode.assign(nodes.size(), kNowhere);
  nodesOfItem.assign(work.items().size(), {});
  events.clear();
  events.resize(nodes.size());
  std::map<uint32_t, std::vector<uint32_t>> members; // of pieces
  for (uint32_t node = 0; node < nodes.size(); ++node)
    if (!nodes[node].isTransfer()) {
      members[work.pieces()[node]].push_back(node);
      nodesOfItem[nodes[node].item].push_back(node);
    }
  for (size_t place = 0; place < launches.launches.size(); ++place)
    if (const Launch &launch = launches.launches[place]; launch.isGraph) {
      uint32_t piece = work.pieces()[launch.nodes.front()];
      graphOfLaunch[place] = uint32_t(graphs.size());
      addGraph(piece, members[piece]);
    }
  for (PieceGraph &graph : graphs)
    if (auto same = std::ranges::find(old, graph.nodes, &PieceGraph::nodes); same != old.end()) {
      graph.graph = std::move(same->graph);
      graph.executable = std::move(same->executable);
      graph.kernels = std::move(same->kernels);
    }
}

bool PieceGraphs::areCurrent() const { return std::ranges::all_of(graphs, &PieceGraph::isCurrent); }

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

/// In a graph the last item of a joint stands for all of it.
void PieceGraphs::recordEnd(uint32_t node, CUstream stream) {
  uint32_t item = work.nodes()[node].item;
  const StepWork::Joint *joint = work.jointOf(item);
  if (!joint)
    return record(api, events[node], stream);
  if (item == joint->items.back())
    for (uint32_t member : joint->items)
      record(api, events[nodesOfItem[member].front()], stream);
}

/// Behind what `capturing` has, which goes on behind all.
void PieceGraphs::enqueue(const PieceGraph &graph, std::vector<std::vector<CUgraphNode>> &kernels) {
  record(api, begun, capturing);
  std::map<uint32_t, uint32_t> last; // node of each stream
  for (uint32_t number : graph.nodes) {
    const StepNode &node = work.nodes()[number];
    CUstream own = lanes[node.stream];
    cards.use(node.card);
    if (last.insert_or_assign(node.stream, number).second)
      await(api, own, begun);
    for (uint32_t before : each->launches[number].waits)
      if (work.pieces()[before] == graph.piece)
        await(api, own, events[before]);
    kernels.push_back(calls.capture(node, own));
    recordEnd(number, own);
  }
  cards.use(0);
  for (auto [stream, node] : last)
    await(api, capturing, events[node]);
}

/// A graph, and into `kernels` where the kernels of its nodes are.
Graph PieceGraphs::captureAll(const PieceGraph &graph, std::vector<std::vector<CUgraphNode>> &kernels) {
  cards.use(0);
  api.check(api.cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            "cannot begin a capture");
  CUgraph captured = nullptr;
  try {
    enqueue(graph, kernels);
  } catch (...) {
    cards.use(0);
    if (api.cuStreamEndCapture(capturing, &captured) == CUDA_SUCCESS)
      api.cuGraphDestroy(captured);
    throw;
  }
  api.check(api.cuStreamEndCapture(capturing, &captured), "cannot end a capture");
  return {api, captured};
}

/// Whether nodes have as many kernels.
bool PieceGraphs::haveSameSizes(const PieceGraph &graph,
                                const std::vector<std::vector<CUgraphNode>> &kernels) {
  using Kernels = std::vector<CUgraphNode>;
  return std::ranges::equal(graph.kernels, kernels, {}, &Kernels::size, &Kernels::size);
}

/// Makes the executable graph that of the calls as they are: another one only if it is not of the same nodes.
void PieceGraphs::capture(PieceGraph &graph) {
  std::vector<std::vector<CUgraphNode>> kernels;
  ExecutableGraph old = std::move(graph.executable); // if it throws, there is none
  Graph captured = captureAll(graph, kernels);
  CUgraphExecUpdateResultInfo info{};
  if (old && haveSameSizes(graph, kernels) && api.cuGraphExecUpdate(old, captured, &info) == CUDA_SUCCESS) {
    graph.executable = std::move(old); // further updates name nodes of the graph that it was made of
  } else {
    CUgraphExec made = nullptr;
    api.check(api.cuGraphInstantiate(&made, captured, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY),
              "cannot make a graph of the step");
    graph.executable = {api, made};
    graph.graph = std::move(captured);
    graph.kernels = std::move(kernels);
  }
  graph.isCurrent = true;
}

void PieceGraphs::capture() {
  for (PieceGraph &graph : graphs)
    if (!graph.isCurrent)
      capture(graph);
}

//===----------------------------------------------------------------------===//
// Other addresses
//===----------------------------------------------------------------------===//

/// Gives the kernels of a node the arguments that they have now.
void PieceGraphs::update(PieceGraph &graph, uint32_t node) {
  const StepWork::Item &item = work.items()[work.nodes()[node].item];
  const std::vector<KernelCall> &kernels =
      work.nodes()[node].kind == StepNode::Kind::before ? item.calls.packs : item.calls.kernels;
  auto place = size_t(std::ranges::lower_bound(graph.nodes, node) - graph.nodes.begin());
  for (size_t i = 0; i < kernels.size(); ++i)
    work.check(item, kernels[i].update(api, graph.executable, graph.kernels[place][i]));
}

/// Transfers are none of a graph's nodes, so that those of an item with one are ours.
void PieceGraphs::change(uint32_t item) {
  const Calls &changed = work.items()[item].calls;
  for (uint32_t node : nodesOfItem[item]) {
    if (graphOfNode[node] == kNowhere)
      continue;
    PieceGraph &graph = graphs[graphOfNode[node]];
    bool wasCurrent = std::exchange(graph.isCurrent, false); // if it throws
    if (!wasCurrent || !(changed.isOwn() || changed.transfer))
      continue;
    update(graph, node);
    graph.isCurrent = true;
  }
}

} // namespace epl::runtime::cuda
