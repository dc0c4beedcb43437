// Attention of a plan by cuDNN.
#ifndef EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_H
#define EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_H

#include "runtime/device/cuda/LibraryWork.h"
#include "runtime/device/cuda/cudnn/Library.h"
#include "runtime/plan/model/Attention.h"

#include <optional>

namespace epl::runtime::cuda {

/// Addresses of q, k, v and o, and of what is kept of rows for a gradient; 0: nothing is.
struct AttentionOperands {
  CUdeviceptr q, k, v, o, stats = 0;
};

/// Attention as a call of the library.
class AttentionCall : public LibraryWork {
public:
  /// What the library does for attention whose tensors are at some addresses; nothing if it does not take it.
  /// It is asked once for attention that is alike.
  static std::optional<AttentionCall> make(std::shared_ptr<const CudnnLibrary> library,
                                           const AttentionShape &shape, const AttentionOperands &operands);

  size_t workspaceBytes() const override { return statsBytes + size_t(graph->workspaceBytes()); }
  void enqueue(CUdeviceptr workspace, CUstream stream) const override;
  const void *choice() const override { return graph.get(); }

private:
  AttentionCall() = default;

  std::shared_ptr<const CudnnLibrary> library;
  std::shared_ptr<const dnn::Graph> graph;
  AttentionOperands operands{};
  float scale = 1;
  bool isCausal = false;
  size_t statsBytes = 0; // of the begin of the workspace, where nobody keeps them
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_H
