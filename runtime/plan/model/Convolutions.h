// The tensors of a convolution as a library takes them: the one definition that the verifier and the runtime
// share.
#ifndef EPL_RUNTIME_PLAN_MODEL_CONVOLUTIONS_H
#define EPL_RUNTIME_PLAN_MODEL_CONVOLUTIONS_H

#include "runtime/plan/format/plan_generated.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime {

/// A tensor with two dimensions before those of the axes: samples and channels of all groups (image),
/// features of all groups and channels of one (filter), samples and features of all groups (output).
struct ConvolutionView {
  uint32_t operand; ///< of the kernel
  plan::ElementType type;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides; ///< in elements, positive, also of an extent of 1
};

/// Needs a convolution without a fault.
ConvolutionView viewOf(const plan::ConvolutionT &convolution, plan::ConvolutionTensor tensor);

/// Of a convolution of 16-bit floats whose result is f32: libraries have none, but one of f32. What is read
/// is widened to that before, in the kernel's workspace: where each of these tensors lies in it, and its
/// bytes, by `ConvolutionTensor`; 0 of what is written. All 0 of other convolutions.
struct WidenedTensors {
  std::array<uint64_t, 3> offsets{}, bytes{};
  uint64_t size = 0; ///< of all
};
WidenedTensors widenedOf(const plan::KernelT &kernel);

/// output of image 0 f32[8x3x14x14] by 588x1x42x3, filter 1 f32[4x3x3x3] by 1x4x36x12, output 2
/// f32[8x4x12x12] by 576x1x48x4, groups 1 stride 1x1 dilation 1x1 zeros 0x0 0x0
std::string textOf(const plan::ConvolutionT &convolution);

/// What is wrong with the convolution of a kernel whose operands have sizes, "" if nothing: numbers that are
/// negative or too large, an axis whose extents do not fit, a tensor that reaches beyond its operand,
/// elements of the result that nobody writes, a workspace that is too small.
std::string faultOfConvolution(const plan::KernelT &kernel);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_CONVOLUTIONS_H
