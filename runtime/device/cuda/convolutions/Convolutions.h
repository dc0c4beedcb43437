// Convolutions of a plan by cuDNN.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H
#define EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H

#include "runtime/device/cuda/LibraryWork.h"
#include "runtime/device/cuda/cudnn/Library.h"

#include <optional>

namespace epl::runtime::cuda {

/// Addresses of image, filter and output.
using ConvolutionOperands = std::array<CUdeviceptr, 3>;

/// A convolution as a call of the library.
class ConvolutionCall : public LibraryWork {
public:
  /// What the library does for a convolution whose tensors are at some addresses; nothing if it does not take
  /// it. `isShort`: of f32 whose mantissas have 10 bits, so that TF32 is all of it. It is asked once for
  /// convolutions that are alike.
  static std::optional<ConvolutionCall> make(std::shared_ptr<const CudnnLibrary> library,
                                             const plan::ConvolutionT &convolution,
                                             const ConvolutionOperands &operands, bool isShort);

  size_t workspaceBytes() const override { return size_t(graph->workspaceBytes()); }
  void enqueue(CUdeviceptr workspace, CUstream stream) const override;
  const void *choice() const override { return graph.get(); }

private:
  ConvolutionCall() = default;

  std::shared_ptr<const CudnnLibrary> library;
  std::shared_ptr<const dnn::Graph> graph;
  ConvolutionOperands operands{};
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H
