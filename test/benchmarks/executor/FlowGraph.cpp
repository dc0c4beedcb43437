// oneTBB: a flow graph of continue nodes, built once.
#include "Graph.h"

#include <deque>
#include <memory>
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace epl::benchmark {
namespace {

class FlowGraph {
public:
  FlowGraph(const Graph &source, uint32_t cores) : cores(cores), arena(int(cores)) {
    arena.execute([&] {
      graph = std::make_unique<tbb::flow::graph>();
      for (const std::vector<uint32_t> &earlier : source) {
        Node &node = nodes.emplace_back(*graph, [](tbb::flow::continue_msg) {});
        for (uint32_t other : earlier)
          tbb::flow::make_edge(nodes[other], node);
        if (earlier.empty())
          roots.push_back(&node);
      }
    });
  }

  void run() {
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, cores);
    arena.execute([&] {
      for (Node *root : roots)
        root->try_put(tbb::flow::continue_msg());
      graph->wait_for_all();
    });
  }

private:
  using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;
  uint32_t cores;
  tbb::task_arena arena;
  std::unique_ptr<tbb::flow::graph> graph;
  std::deque<Node> nodes;
  std::vector<Node *> roots;
};

} // namespace

Run flowGraph(const Graph &graph, uint32_t cores) {
  auto peer = std::make_shared<FlowGraph>(graph, cores);
  return [peer](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      peer->run();
  };
}

} // namespace epl::benchmark
