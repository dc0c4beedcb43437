// Convolutions of a plan by cuDNN.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H
#define EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H

#include "runtime/device/cuda/cudnn/Library.h"

#include <optional>

namespace epl::runtime::cuda {

/// Addresses of image, filter and output.
using ConvolutionOperands = std::array<CUdeviceptr, 3>;

/// A convolution as a call of the library.
class ConvolutionCall {
public:
  /// What the library does for a convolution whose tensors are at some addresses; nothing if it does not take
  /// it. `isShort`: of f32 whose mantissas have 10 bits, so that TF32 is all of it. It is asked once for
  /// convolutions that are alike.
  static std::optional<ConvolutionCall> make(std::shared_ptr<const CudnnLibrary> library,
                                             const plan::ConvolutionT &convolution,
                                             const ConvolutionOperands &operands, bool isShort);

  /// Bytes of memory that it works in, which no other call may use meanwhile.
  size_t workspaceBytes() const { return size_t(graph->workspaceBytes()); }
  /// `workspace` has that much. The card is the calling thread's. Throws Error if the library fails.
  void enqueue(CUdeviceptr workspace, CUstream stream) const;
  /// What the library has chosen: the same for calls that it does by the same code.
  const void *choice() const { return graph.get(); }

private:
  ConvolutionCall() = default;

  std::shared_ptr<const CudnnLibrary> library;
  std::shared_ptr<const dnn::Graph> graph;
  ConvolutionOperands operands{};
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H
