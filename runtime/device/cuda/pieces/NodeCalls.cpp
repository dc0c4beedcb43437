#include "runtime/device/cuda/pieces/NodeCalls.h"

#include "runtime/Error.h"

namespace epl::runtime::cuda {

/// The node that was captured last from a stream.
CUresult NodeCalls::takeNode(CUstream stream, Taken &taken) const {
  CUstreamCaptureStatus status{};
  const CUgraphNode *last = nullptr;
  size_t count = 0;
  CUresult result = api.cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, nullptr, &count);
  if (result == CUDA_SUCCESS)
    taken.push_back(count == 1 ? *last : nullptr);
  return result;
}

CUresult NodeCalls::enqueueKernels(const std::vector<KernelCall> &kernels, CUstream stream,
                                   Taken *taken) const {
  for (const KernelCall &call : kernels) {
    if (CUresult result = call.enqueue(api, stream); result != CUDA_SUCCESS)
      return result;
    if (CUresult result = taken ? takeNode(stream, *taken) : CUDA_SUCCESS; result != CUDA_SUCCESS)
      return result;
  }
  return CUDA_SUCCESS;
}

/// All but what comes before a transfer.
CUresult NodeCalls::enqueueBehind(const StepWork::Item &item, CUstream stream, Taken *taken) const {
  if (CUresult result = enqueueKernels(item.calls.kernels, stream, taken); result != CUDA_SUCCESS)
    return result;
  try {
    item.calls.enqueueCall(api, work.workspaceOf(item), stream);
  } catch (const Error &error) {
    throw Error(work.describe(item) + ": " + error.what());
  }
  return CUDA_SUCCESS;
}

CUresult NodeCalls::enqueueJoint(const StepWork::Joint &joint, uint32_t item, CUstream stream) const {
  return item == joint.items.back() ? enqueueKernels(joint.kernels, stream, nullptr) : CUDA_SUCCESS;
}

CUresult NodeCalls::enqueueAll(const StepNode &node, CUstream stream, Taken *taken) const {
  const StepWork::Item &item = work.items()[node.item];
  if (node.kind == StepNode::Kind::before)
    return enqueueKernels(item.calls.packs, stream, taken);
  if (const StepWork::Joint *joint = taken ? work.jointOf(node.item) : nullptr)
    return enqueueJoint(*joint, node.item, stream);
  return enqueueBehind(item, stream, taken);
}

void NodeCalls::enqueue(const StepNode &node, CUstream stream) const {
  work.check(work.items()[node.item], enqueueAll(node, stream, nullptr));
}

std::vector<CUgraphNode> NodeCalls::capture(const StepNode &node, CUstream stream) const {
  Taken taken;
  work.check(work.items()[node.item], enqueueAll(node, stream, &taken));
  return taken;
}

} // namespace epl::runtime::cuda
