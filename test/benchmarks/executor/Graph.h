// Graphs of empty commands, and who runs them.
#ifndef EPL_TEST_BENCHMARKS_EXECUTOR_GRAPH_H
#define EPL_TEST_BENCHMARKS_EXECUTOR_GRAPH_H

#include "../Report.h"

#include <cstdint>
#include <vector>

namespace epl::benchmark {

/// A command of every device: its lane there and what it waits for, on its own device or on all of them.
struct Command {
  struct Wait {
    uint32_t command;
    bool everywhere;
  };
  uint32_t lane;
  std::vector<Wait> waits;
};

/// What each of `devices` does, in program order. The shapes make `size` commands over all devices.
struct Program {
  uint32_t devices;
  std::vector<Command> commands;

  /// Each command waits for the one before it, everywhere; lanes alternate, so that their order says nothing.
  static Program chain(uint32_t devices, uint32_t size);
  /// One command, for which all others wait, everywhere.
  static Program fanOut(uint32_t devices, uint32_t size);
  /// Each command waits for up to three of the 64 before it, one in four waits everywhere.
  static Program random(uint32_t devices, uint32_t size);
};

/// The instances of the commands on all devices as one graph: for each node the earlier ones it waits for.
using Graph = std::vector<std::vector<uint32_t>>;
Graph expand(const Program &program);

/// How the peers run a graph of empty nodes on so many cores.
Run flowGraph(const Graph &graph, uint32_t cores);
Run openMpTasks(const Graph &graph, uint32_t cores);

} // namespace epl::benchmark

#endif // EPL_TEST_BENCHMARKS_EXECUTOR_GRAPH_H
