// The gradient of attention of a plan by cuDNN.
#ifndef EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_GRADIENT_H
#define EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_GRADIENT_H

#include "runtime/device/cuda/attention/Attention.h"
#include "runtime/plan/model/AttentionGradient.h"

namespace epl::runtime::cuda {

/// Addresses; the rows of `stats` are what the call of the attention has written.
struct AttentionGradientOperands {
  CUdeviceptr q, k, v, o, stats, dO, dq, dk, dv;
};

/// The gradient of attention as a call of the library.
class AttentionGradientCall : public LibraryWork {
public:
  /// What the library does where tensors are at some addresses; nothing if it does not take it, or if its
  /// sums had another order in each call. It is asked once for what is alike.
  static std::optional<AttentionGradientCall> make(std::shared_ptr<const CudnnLibrary> library,
                                                   const AttentionGradientShape &shape,
                                                   const AttentionGradientOperands &operands);

  size_t workspaceBytes() const override { return sumsBytes + size_t(graph->workspaceBytes()); }
  void enqueue(CUdeviceptr workspace, CUstream stream) const override;
  const void *choice() const override { return graph.get(); }

private:
  AttentionGradientCall() = default;

  std::shared_ptr<const CudnnLibrary> library;
  std::shared_ptr<const dnn::Graph> graph;
  AttentionGradientOperands operands{};
  float scale = 1;
  bool isCausal = false;
  size_t sumsBytes = 0; // of the begin of the workspace: what its operations make of rows
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_GRADIENT_H
