// Operations that cuDNN runs as one, and the plan by which it does.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CUDNN_GRAPH_H
#define EPL_RUNTIME_DEVICE_CUDA_CUDNN_GRAPH_H

#include "runtime/device/cuda/cudnn/Descriptors.h"

#include <memory>

namespace epl::runtime::cuda::dnn {

class Graph {
public:
  Graph(const Cudnn &api, Handle handle) : api(api), handle(handle) {}

  /// Descriptors are there as long as the graph, as others name them.
  OwnDescriptor &add(Kind kind) { return *parts.emplace_back(std::make_unique<OwnDescriptor>(api, kind)); }
  /// Makes one that has all its attributes an operation of the graph.
  void addOperation(OwnDescriptor &operation) {
    operation.finish();
    operations.push_back(operation.get());
  }

  /// After the last operation: takes the first engine that adds whole products in the type of sums, always in
  /// one order, and works in 64 MiB or, if that is more, `workspaceBytes`. With `takesNarrow` engines of
  /// tensor cores are such. Whether there is one.
  bool plan(bool takesNarrow, int64_t workspaceBytes = 0);

  // Of a graph with a plan.
  Descriptor executionPlan() const { return chosen->get(); }
  int64_t workspaceBytes() const { return workspace; }

private:
  bool choose(const OwnDescriptor &graph, HeuristicsMode mode, bool takesNarrow);
  bool isAccurate(const OwnDescriptor &choice, bool takesNarrow) const;
  bool takeChoice(const OwnDescriptor &choice);

  const Cudnn &api;
  Handle handle;
  std::vector<std::unique_ptr<OwnDescriptor>> parts;
  std::vector<Descriptor> operations;
  std::optional<OwnDescriptor> chosen;
  int64_t workspace = 0, mostWorkspace = 0;
};

} // namespace epl::runtime::cuda::dnn

#endif // EPL_RUNTIME_DEVICE_CUDA_CUDNN_GRAPH_H
