// OpenMP: tasks with depend clauses, made anew in every run, as OpenMP has it.
#include "Graph.h"

#include <memory>

namespace epl::benchmark {
namespace {

/// Makes the tasks of a graph in one thread; `done` holds a byte for each node, which stands for its end.
void makeTasks(const Graph &graph, char *done) {
  for (size_t node = 0; node < graph.size(); ++node) {
    const uint32_t *earlier = graph[node].data();
    int count = int(graph[node].size());
#pragma omp task depend(iterator(i = 0 : count), in : done[earlier[i]]) depend(out : done[node])
    {
    }
  }
}

void run(const Graph &graph, char *done, uint32_t cores) {
#pragma omp parallel num_threads(int(cores))
#pragma omp single
  makeTasks(graph, done);
}

} // namespace

Run openMpTasks(const Graph &graph, uint32_t cores) {
  auto done = std::make_shared<std::vector<char>>(graph.size());
  return [graph, done, cores](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      run(graph, done->data(), cores);
  };
}

} // namespace epl::benchmark
