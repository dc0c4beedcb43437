// The graphs of a step's pieces (FindPieces.h).
//
// Addresses are part of a graph: it is made for those of the first step, and nodes get others when these have
// changed, ours one by one; if calls of a library have changed, all of the graph's get what another capture
// has.
#ifndef EPL_RUNTIME_DEVICE_CUDA_PIECES_PIECEGRAPHS_H
#define EPL_RUNTIME_DEVICE_CUDA_PIECES_PIECEGRAPHS_H

#include "runtime/device/cuda/pieces/LaunchOrder.h"
#include "runtime/device/cuda/pieces/NodeCalls.h"

namespace epl::runtime::cuda {

class PieceGraphs {
public:
  /// `lanes`: the streams of nodes that are no transfers, by their numbers. The arguments outlive it.
  PieceGraphs(const Cards &cards, const StepWork &work, std::span<const Stream> lanes);

  /// All items of the work are made again: graphs are for the launches of an order, by their places there,
  /// and have the waits of `each`, the order with a launch for each node. Both outlive this, or the next
  /// call.
  void reset(const LaunchOrder &launches, const LaunchOrder &each);
  /// The calls of an item have other addresses. Throws Error that names its command.
  void change(uint32_t item);
  /// Whether all graphs have the calls as they are.
  bool areCurrent() const;
  /// Captures those that have not.
  void capture();
  CUresult launch(size_t place, CUstream stream) const {
    return api.cuGraphLaunch(graphs[graphOfLaunch[place]].executable, stream);
  }

private:
  struct PieceGraph {
    uint32_t piece;
    std::vector<uint32_t> nodes; // all of the piece
    Graph graph{};
    ExecutableGraph executable{};
    std::vector<std::vector<CUgraphNode>> kernels{}; // of each node
    bool isCurrent = false;
  };
  static bool haveSameSizes(const PieceGraph &graph, const std::vector<std::vector<CUgraphNode>> &kernels);
  void addGraph(uint32_t piece, const std::vector<uint32_t> &nodes);
  void capture(PieceGraph &graph);
  Graph captureAll(const PieceGraph &graph, std::vector<std::vector<CUgraphNode>> &kernels);
  void enqueue(const PieceGraph &graph, std::vector<std::vector<CUgraphNode>> &kernels);
  void recordEnd(uint32_t node, CUstream stream);
  void update(PieceGraph &graph, uint32_t node);

  const Cards &cards;
  const Driver &api;
  const StepWork &work;
  std::span<const Stream> lanes;
  NodeCalls calls;
  const LaunchOrder *each = nullptr;
  std::vector<PieceGraph> graphs;
  std::vector<uint32_t> graphOfLaunch;
  std::vector<std::vector<uint32_t>> nodesOfItem; // those of lanes
  std::vector<uint32_t> graphOfNode;
  Stream capturing;
  Event begun;
  std::vector<Event> events; // of each node, in captures
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_PIECES_PIECEGRAPHS_H
