//===- ApiGraphs.cpp - Functions of the driver: captures, graphs ----------===//

#include "test/cuda/driver/Api.h"
#include "test/cuda/driver/KernelArguments.h"

#include <algorithm>
#include <thread>

using namespace cuda_double;

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  return call([&](Driver &driver) {
    auto &stream = driver.look<Stream>(handle);
    if (stream.capture)
      throw DriverError{CUDA_ERROR_ILLEGAL_STATE};
    auto captured = std::make_unique<Graph>();
    captured->forbids = mode == CU_STREAM_CAPTURE_MODE_GLOBAL         ? Graph::Forbids::allThreads
                        : mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ? Graph::Forbids::itsThread
                                                                      : Graph::Forbids::nobody;
    captured->thread = std::this_thread::get_id();
    stream.capture = driver.keep(std::move(captured));
    stream.isOrigin = true;
    stream.tail.clear();
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  return call([&](Driver &driver) {
    *status =
        driver.look<Stream>(stream).capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  });
}

/// What the next node from a stream comes after: kept by the stream until that.
CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                                CUgraph *graph, const CUgraphNode **dependencies,
                                const CUgraphEdgeData **edges, size_t *count) {
  return call([&](Driver &driver) {
    auto &stream = driver.look<Stream>(handle);
    if (edges)
      throw DriverError{CUDA_ERROR_NOT_SUPPORTED};
    *status = stream.capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    stream.tailNodes.clear();
    for (size_t number : stream.tail)
      stream.tailNodes.push_back(reinterpret_cast<CUgraphNode>(stream.capture->nodes[number].get()));
    if (id)
      *id = reinterpret_cast<cuuint64_t>(stream.capture);
    if (graph)
      *graph = reinterpret_cast<CUgraph>(stream.capture);
    if (dependencies)
      *dependencies = stream.tailNodes.data();
    if (count)
      *count = stream.tailNodes.size();
  });
}

/// The nodes with a path to one of these, which are among them.
static std::vector<bool> findBefore(const Graph &graph, std::vector<size_t> open) {
  std::vector<bool> found(graph.nodes.size());
  while (!open.empty()) {
    size_t number = open.back();
    open.pop_back();
    if (found[number])
      continue;
    found[number] = true;
    open.insert(open.end(), graph.nodes[number]->after.begin(), graph.nodes[number]->after.end());
  }
  return found;
}

/// All that other streams have done in the capture has to be waited for by the stream where it began.
CUresult cuStreamEndCapture(CUstream handle, CUgraph *result) {
  return call([&](Driver &driver) {
    auto &origin = driver.look<Stream>(handle);
    Graph *graph = origin.capture;
    if (!graph || !origin.isOrigin)
      throw DriverError{CUDA_ERROR_ILLEGAL_STATE};
    std::vector<bool> joined = findBefore(*graph, origin.tail);
    bool isJoined = true;
    for (Stream *stream : driver.all<Stream>()) {
      if (stream->capture != graph)
        continue;
      for (size_t number : stream->tail)
        isJoined &= joined[number];
      stream->capture = nullptr;
      stream->isOrigin = false;
      stream->tail.clear();
    }
    *result = nullptr;
    if (!isJoined)
      throw DriverError{CUDA_ERROR_STREAM_CAPTURE_UNJOINED};
    *result = reinterpret_cast<CUgraph>(graph);
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  return call([&](Driver &driver) {
    auto &graph = driver.look<Graph>(handle);
    for (size_t i = 0; nodes && i < std::min(*count, graph.nodes.size()); ++i)
      nodes[i] = reinterpret_cast<CUgraphNode>(graph.nodes[i].get());
    *count = graph.nodes.size();
  });
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  return call([&](Driver &driver) {
    static constexpr CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY,
                                                CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST,
                                                CU_GRAPH_NODE_TYPE_KERNEL}; // a meeting is a library's kernel
    *type = types[driver.look<Graph::Node>(node).work.index()];
  });
}

/// Without that flag kernels have the priority of the stream that the graph is launched on: the least.
CUresult cuGraphInstantiate(CUgraphExec *result, CUgraph handle, unsigned long long flags) {
  return call([&](Driver &driver) {
    auto &graph = driver.look<Graph>(handle);
    driver.countGraph();
    auto made = std::make_unique<Graph>();
    for (auto &node : graph.nodes) {
      made->nodes.push_back(std::make_unique<Graph::Node>(*node));
      auto *kernel = std::get_if<KernelWork>(&made->nodes.back()->work);
      if (kernel && !(flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY))
        kernel->priority = 0;
    }
    *result = reinterpret_cast<CUgraphExec>(driver.keep(std::move(made)));
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return call(
      [&](Driver &driver) { driver.launchGraph(driver.look<Graph>(handle), driver.look<Stream>(stream)); });
}

/// The node of an executable graph that was made of a node.
static Graph::Node &findCopy(Driver &driver, CUgraphExec handle, CUgraphNode nodeHandle) {
  auto &graph = driver.look<Graph>(handle);
  auto &node = driver.look<Graph::Node>(nodeHandle);
  if (node.number >= graph.nodes.size() || graph.nodes[node.number]->graph != node.graph)
    throw DriverError{CUDA_ERROR_INVALID_VALUE};
  return *graph.nodes[node.number];
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec handle, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS *said) {
  return call([&](Driver &driver) {
    Graph::Node &copy = findCopy(driver, handle, node);
    auto *before = std::get_if<KernelWork>(&copy.work);
    if (!before)
      throw DriverError{CUDA_ERROR_INVALID_VALUE};
    int priority = before->priority;
    KernelWork made = makeKernelWork(
        driver.look<Function>(said->func), {said->gridDimX, said->gridDimY, said->gridDimZ},
        {said->blockDimX, said->blockDimY, said->blockDimZ}, said->sharedMemBytes, said->kernelParams);
    made.priority = priority;
    copy.work = std::move(made);
  });
}

CUresult cuGraphExecUpdate(CUgraphExec handle, CUgraph graphHandle, CUgraphExecUpdateResultInfo *info) {
  return call([&](Driver &driver) {
    auto &executable = driver.look<Graph>(handle);
    auto &graph = driver.look<Graph>(graphHandle);
    auto isOfOneKind = [](const auto &a, const auto &b) {
      return a->work.index() == b->work.index() && a->after == b->after;
    };
    *info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
    if (!std::ranges::equal(executable.nodes, graph.nodes, isOfOneKind)) {
      info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
      throw DriverError{CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE};
    }
    for (size_t number = 0; number < graph.nodes.size(); ++number)
      executable.nodes[number]->work = graph.nodes[number]->work;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return call([&](Driver &driver) {
    for (auto &node : driver.look<Graph>(handle).nodes)
      driver.forget(node.get());
    driver.drop<Graph>(handle);
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return call([&](Driver &driver) {
    if (!driver.operations.areDone(driver.look<Graph>(handle).lastLaunch))
      driver.report("graph", "a graph is destroyed while it runs");
    driver.drop<Graph>(handle);
  });
}
