// The calls of a step's nodes, as they are put on streams.
#ifndef EPL_RUNTIME_DEVICE_CUDA_PIECES_NODECALLS_H
#define EPL_RUNTIME_DEVICE_CUDA_PIECES_NODECALLS_H

#include "runtime/device/cuda/StepWork.h"

namespace epl::runtime::cuda {

/// Of all nodes but transfers. The argument outlives it. Streams are of the calling thread's card.
class NodeCalls {
public:
  explicit NodeCalls(const Driver &api, const StepWork &work) : api(api), work(work) {}

  /// Throws Error that names the command if a call fails.
  void enqueue(const StepNode &node, CUstream stream) const;
  /// The same for a stream that is captured: the nodes of the graph whose arguments are those of the node's
  /// kernels. The last one of a joint stands for all of it.
  std::vector<CUgraphNode> capture(const StepNode &node, CUstream stream) const;

private:
  using Taken = std::vector<CUgraphNode>;
  CUresult enqueueKernels(const std::vector<KernelCall> &kernels, CUstream stream, Taken *taken) const;
  CUresult enqueueBehind(const StepWork::Item &item, CUstream stream, Taken *taken) const;
  CUresult enqueueJoint(const StepWork::Joint &joint, uint32_t item, CUstream stream) const;
  CUresult enqueueAll(const StepNode &node, CUstream stream, Taken *taken) const;
  CUresult takeNode(CUstream stream, Taken &taken) const;

  const Driver &api;
  const StepWork &work;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_PIECES_NODECALLS_H
