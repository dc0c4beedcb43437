#include "runtime/plan/model/Convolutions.h"

#include "runtime/plan/model/Access.h"

#include <algorithm>

namespace epl::runtime {

using plan::ConvolutionTensor;

template <typename T> static T pick(ConvolutionTensor tensor, T ofImage, T ofFilter, T ofOutput) {
  return tensor == ConvolutionTensor::image    ? ofImage
         : tensor == ConvolutionTensor::filter ? ofFilter
                                               : ofOutput;
}

template <typename Dim> static int64_t strideOf(const Dim &dim, ConvolutionTensor tensor) {
  return pick(tensor, dim.image_stride(), dim.filter_stride(), dim.output_stride());
}

static int64_t extentOf(const plan::ConvolutionAxis &axis, ConvolutionTensor tensor) {
  return pick(tensor, axis.image(), axis.taps(), axis.outputs());
}

/// Strides that nobody steps by, as a tensor that is dense has them.
static void fillStrides(ConvolutionView &view) {
  auto reachFrom = [&](size_t first) {
    int64_t reach = 1;
    for (size_t dim = first; dim < view.extents.size(); ++dim)
      if (view.extents[dim] > 1)
        reach = std::max(reach, view.extents[dim] * view.strides[dim]);
    return reach;
  };
  for (size_t dim = view.extents.size(); dim-- > 0;)
    if (view.extents[dim] == 1)
      view.strides[dim] = dim == 1 ? 1 : reachFrom(1);
}

ConvolutionView viewOf(const plan::ConvolutionT &convolution, ConvolutionTensor tensor) {
  bool isFilter = tensor == ConvolutionTensor::filter;
  ConvolutionView view{pick(tensor, convolution.image, convolution.filter, convolution.output),
                       tensor == convolution.writes ? convolution.result : convolution.type,
                       {},
                       {}};
  auto add = [&](const plan::ConvolutionLoop &loop, bool hasGroups) {
    const plan::ConvolutionLoop &stepped = loop.extent() == 1 && hasGroups ? convolution.groups : loop;
    view.extents.push_back(loop.extent() * (hasGroups ? convolution.groups.extent() : 1));
    view.strides.push_back(strideOf(stepped, tensor));
  };
  if (isFilter)
    add(convolution.features, true), add(convolution.channels, false);
  else
    add(convolution.samples, false),
        add(tensor == ConvolutionTensor::image ? convolution.channels : convolution.features, true);
  for (const plan::ConvolutionAxis &axis : convolution.axes) {
    view.extents.push_back(extentOf(axis, tensor));
    view.strides.push_back(strideOf(axis, tensor));
  }
  fillStrides(view);
  return view;
}

WidenedTensors widenedOf(const plan::KernelT &kernel) {
  constexpr uint64_t kAlignment = 256; // as libraries like it
  const plan::ConvolutionT &convolution = *kernel.convolution;
  WidenedTensors widened;
  if (convolution.type == convolution.result)
    return widened;
  for (ConvolutionTensor tensor : plan::EnumValuesConvolutionTensor()) {
    if (tensor == convolution.writes)
      continue;
    uint32_t operand = pick(tensor, convolution.image, convolution.filter, convolution.output);
    uint64_t bytes =
        kernel.operand_sizes[operand] / elementBytes(convolution.type) * elementBytes(convolution.result);
    widened.offsets[size_t(tensor)] = widened.size;
    widened.bytes[size_t(tensor)] = bytes;
    widened.size += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return widened;
}

static std::string joined(const std::vector<int64_t> &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(number);
  return text;
}

std::string textOf(const plan::ConvolutionT &convolution) {
  std::string text = std::string(plan::EnumNameConvolutionTensor(convolution.writes)) + " of";
  for (ConvolutionTensor tensor : plan::EnumValuesConvolutionTensor()) {
    ConvolutionView view = viewOf(convolution, tensor);
    text += std::string(" ") + plan::EnumNameConvolutionTensor(tensor) + " " + std::to_string(view.operand) +
            " " + plan::EnumNameElementType(view.type) + "[" + joined(view.extents) + "] by " +
            joined(view.strides) + ",";
  }
  std::vector<int64_t> strides, dilations, before, after;
  for (const plan::ConvolutionAxis &axis : convolution.axes) {
    strides.push_back(axis.stride()), dilations.push_back(axis.dilation());
    before.push_back(axis.before()), after.push_back(axis.after());
  }
  return text + " groups " + std::to_string(convolution.groups.extent()) + " stride " + joined(strides) +
         " dilation " + joined(dilations) + " zeros " + joined(before) + " " + joined(after) +
         (convolution.flips ? " flips" : "") + (convolution.accumulate ? " accumulate" : "");
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

// Of every number, so that products of two can be counted.
static constexpr int64_t kMost = (int64_t(1) << 31) - 1;

static bool isExtent(int64_t number) { return 0 < number && number <= kMost; }
static bool isDistance(int64_t number) { return 0 <= number && number <= kMost; }

static bool isSound(const plan::ConvolutionLoop &loop) {
  return isExtent(loop.extent()) && isDistance(loop.image_stride()) && isDistance(loop.filter_stride()) &&
         isDistance(loop.output_stride());
}

static bool isSound(const plan::ConvolutionAxis &axis) {
  bool isCounted = isExtent(axis.image()) && isExtent(axis.taps()) && isExtent(axis.outputs()) &&
                   isExtent(axis.stride()) && isExtent(axis.dilation()) && isDistance(axis.before()) &&
                   isDistance(axis.after());
  return isCounted && isDistance(axis.image_stride()) && isDistance(axis.filter_stride()) &&
         isDistance(axis.output_stride());
}

static bool fits(const plan::ConvolutionAxis &axis) {
  int64_t room = axis.image() + axis.before() + axis.after() - axis.dilation() * (axis.taps() - 1) - 1;
  return room >= 0 && room / axis.stride() + 1 == axis.outputs();
}

/// Whether the groups lie one behind the other, as further channels and features.
static bool areGroupsDense(const plan::ConvolutionT &convolution) {
  const plan::ConvolutionLoop &groups = convolution.groups;
  auto follows = [&](const plan::ConvolutionLoop &inner, ConvolutionTensor tensor) {
    return inner.extent() == 1 || strideOf(groups, tensor) == inner.extent() * strideOf(inner, tensor);
  };
  return groups.extent() == 1 || (follows(convolution.channels, ConvolutionTensor::image) &&
                                  follows(convolution.features, ConvolutionTensor::filter) &&
                                  follows(convolution.features, ConvolutionTensor::output));
}

static bool isNarrow(plan::ElementType type) {
  return type == plan::ElementType::f16 || type == plan::ElementType::bf16;
}

static bool hasTypes(const plan::ConvolutionT &convolution) {
  plan::ElementType type = convolution.type, result = convolution.result;
  bool isWide = type == plan::ElementType::f32 || type == plan::ElementType::f64;
  return (isWide || isNarrow(type)) &&
         (result == type || (isNarrow(type) && result == plan::ElementType::f32));
}

/// Whether the operands of the kernel are those of a convolution: one output, and where it adds to one, a
/// last input that is like it.
static bool hasOperands(const plan::KernelT &kernel) {
  uint32_t inputs = kernel.num_inputs;
  return kernel.num_outputs == 1 &&
         (!kernel.convolution->accumulate ||
          (inputs > 0 && kernel.operand_sizes[inputs - 1] == kernel.operand_sizes[inputs]));
}

static std::string faultOfTensor(const plan::ConvolutionT &convolution, const plan::KernelT &kernel,
                                 ConvolutionTensor tensor) {
  std::string name = std::string("the convolution's ") + plan::EnumNameConvolutionTensor(tensor);
  ConvolutionView view = viewOf(convolution, tensor);
  bool isWritten = tensor == convolution.writes;
  if (isWritten ? view.operand != kernel.num_inputs : view.operand >= kernel.num_inputs)
    return name + " is operand " + std::to_string(view.operand) + ", expected " +
           (isWritten ? "the output, " + std::to_string(kernel.num_inputs)
                      : "one of " + std::to_string(kernel.num_inputs) + " inputs");
  int64_t available = int64_t(kernel.operand_sizes[view.operand] / elementBytes(view.type));
  int64_t last = 0, count = 1;
  for (size_t dim = 0; dim < view.extents.size(); ++dim) {
    int64_t step = 0, reach = 0;
    if (__builtin_mul_overflow(view.extents[dim] - 1, view.strides[dim], &step) ||
        __builtin_add_overflow(last, step, &reach) ||
        __builtin_mul_overflow(count, view.extents[dim], &count))
      return name + " has more elements than can be counted";
    last = reach;
  }
  if (last >= available)
    return name + " reaches element " + std::to_string(last) + " of " + std::to_string(available);
  if (isWritten && count != available)
    return name + " has " + std::to_string(count) + " elements of " + std::to_string(available) +
           " that are written";
  return "";
}

std::string faultOfConvolution(const plan::KernelT &kernel) {
  const plan::ConvolutionT &convolution = *kernel.convolution;
  const int64_t groups = convolution.groups.extent();
  bool isCounted = isSound(convolution.samples) && isSound(convolution.groups) &&
                   isSound(convolution.channels) && isSound(convolution.features) &&
                   isExtent(groups * convolution.channels.extent()) &&
                   isExtent(groups * convolution.features.extent());
  if (convolution.axes.empty() || convolution.axes.size() > 3)
    return "the convolution has " + std::to_string(convolution.axes.size()) + " axes, expected 1 to 3";
  if (!isCounted || !std::ranges::all_of(convolution.axes, [](const auto &axis) { return isSound(axis); }))
    return "the convolution has numbers that are negative or too large";
  for (size_t axis = 0; axis < convolution.axes.size(); ++axis)
    if (!fits(convolution.axes[axis]))
      return "axis " + std::to_string(axis) + " of the convolution has " +
             std::to_string(convolution.axes[axis].outputs()) +
             " outputs, which its other extents do not give";
  if (!hasTypes(convolution))
    return std::string("the convolution makes ") + plan::EnumNameElementType(convolution.result) + " of " +
           plan::EnumNameElementType(convolution.type) +
           ", expected floats of one type, or f32 of narrower ones";
  if (!areGroupsDense(convolution))
    return "the groups of the convolution do not lie one behind the other";
  if (convolution.writes < ConvolutionTensor::MIN || convolution.writes > ConvolutionTensor::MAX)
    return "the convolution writes tensor " + std::to_string(int(convolution.writes)) +
           ", which does not exist";
  if (!hasOperands(kernel))
    return "the convolution's kernel has " + std::to_string(kernel.num_outputs) +
           " outputs, expected one, of the size of the input that it is added to";
  for (ConvolutionTensor tensor :
       {ConvolutionTensor::image, ConvolutionTensor::filter, ConvolutionTensor::output})
    if (std::string fault = faultOfTensor(convolution, kernel, tensor); !fault.empty())
      return fault;
  if (uint64_t needed = widenedOf(kernel).size; kernel.workspace < needed)
    return "the convolution is widened in a workspace of " + std::to_string(kernel.workspace) +
           " bytes, expected " + std::to_string(needed);
  return "";
}

} // namespace epl::runtime
