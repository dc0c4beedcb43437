#include "runtime/device/cuda/convolutions/Convolutions.h"

#include "runtime/plan/model/Convolutions.h"

#include <algorithm>

namespace epl::runtime::cuda {

using dnn::Attribute;
using dnn::Kind;
using dnn::OwnDescriptor;
using dnn::ValueType;

/// The attributes of an operation.
struct OperationAttributes {
  Kind kind;
  Attribute image, filter, output, convolution, alpha, beta;
};

static OperationAttributes attributesOf(plan::ConvolutionTensor writes) {
  switch (writes) {
  case plan::ConvolutionTensor::image:
    return {Kind::backwardImage,
            Attribute::backwardImageImage,
            Attribute::backwardImageFilter,
            Attribute::backwardImageOutput,
            Attribute::backwardImageConvolution,
            Attribute::backwardImageAlpha,
            Attribute::backwardImageBeta};
  case plan::ConvolutionTensor::filter:
    return {Kind::backwardFilter,
            Attribute::backwardFilterImage,
            Attribute::backwardFilterFilter,
            Attribute::backwardFilterOutput,
            Attribute::backwardFilterConvolution,
            Attribute::backwardFilterAlpha,
            Attribute::backwardFilterBeta};
  default:
    return {Kind::forward,
            Attribute::forwardImage,
            Attribute::forwardFilter,
            Attribute::forwardOutput,
            Attribute::forwardConvolution,
            Attribute::forwardAlpha,
            Attribute::forwardBeta};
  }
}

/// The library has at least two axes: a second one of one position.
static void addSecondAxis(ConvolutionView &view) {
  if (view.extents.size() == 3) {
    view.extents.push_back(1);
    view.strides.push_back(1);
  }
}

static OwnDescriptor &addTensor(dnn::Graph &graph, const plan::ConvolutionT &convolution,
                                plan::ConvolutionTensor tensor, CUdeviceptr address) {
  ConvolutionView view = viewOf(convolution, tensor);
  addSecondAxis(view);
  OwnDescriptor &made = graph.add(Kind::tensor);
  made.set(Attribute::tensorType, ValueType::dataType, cudnnTypeOf(view.type))
      .set(Attribute::tensorExtents, ValueType::int64, std::span<const int64_t>(view.extents))
      .set(Attribute::tensorStrides, ValueType::int64, std::span<const int64_t>(view.strides))
      .set(Attribute::tensorId, ValueType::int64, int64_t(tensor))
      .set(Attribute::tensorAlignment, ValueType::int64, int64_t(alignmentOf(address)))
      .finish();
  return made;
}

/// How the filter moves.
static OwnDescriptor &addShape(dnn::Graph &graph, const plan::ConvolutionT &convolution, dnn::DataType sums) {
  std::vector<int64_t> strides, dilations, before, after;
  for (const plan::ConvolutionAxis &axis : convolution.axes) {
    strides.push_back(axis.stride()), dilations.push_back(axis.dilation());
    before.push_back(axis.before()), after.push_back(axis.after());
  }
  if (convolution.axes.size() == 1)
    strides.push_back(1), dilations.push_back(1), before.push_back(0), after.push_back(0);
  auto list = [](const std::vector<int64_t> &numbers) { return std::span<const int64_t>(numbers); };
  OwnDescriptor &made = graph.add(Kind::convolution);
  made.set(Attribute::convolutionType, ValueType::dataType, sums)
      .set(Attribute::convolutionMode, ValueType::convolutionMode,
           convolution.flips ? dnn::ConvolutionMode::flips : dnn::ConvolutionMode::straight)
      .set(Attribute::convolutionAxes, ValueType::int64, int64_t(strides.size()))
      .set(Attribute::convolutionStrides, ValueType::int64, list(strides))
      .set(Attribute::convolutionDilations, ValueType::int64, list(dilations))
      .set(Attribute::convolutionBefore, ValueType::int64, list(before))
      .set(Attribute::convolutionAfter, ValueType::int64, list(after))
      .finish();
  return made;
}

/// Describes a convolution to the library. Whether that takes it.
static bool describe(dnn::Graph &graph, const plan::ConvolutionT &convolution,
                     const ConvolutionOperands &operands, bool takesTf32) {
  bool isDouble = convolution.type == plan::ElementType::f64;
  OperationAttributes names = attributesOf(convolution.writes);
  OwnDescriptor &image = addTensor(graph, convolution, plan::ConvolutionTensor::image, operands[0]);
  OwnDescriptor &filter = addTensor(graph, convolution, plan::ConvolutionTensor::filter, operands[1]);
  OwnDescriptor &output = addTensor(graph, convolution, plan::ConvolutionTensor::output, operands[2]);
  OwnDescriptor &shape = addShape(graph, convolution, isDouble ? dnn::DataType::f64 : dnn::DataType::f32);
  OwnDescriptor &operation = graph.add(names.kind);
  operation.set(names.image, image).set(names.filter, filter).set(names.output, output);
  operation.set(names.convolution, shape);
  double beta = convolution.accumulate ? 1 : 0;
  if (isDouble)
    operation.set(names.alpha, ValueType::float64, 1.0).set(names.beta, ValueType::float64, beta);
  else
    operation.set(names.alpha, ValueType::float32, 1.0F).set(names.beta, ValueType::float32, float(beta));
  graph.addOperation(operation);
  return graph.plan(takesTf32 || convolution.type != plan::ElementType::f32);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::optional<ConvolutionCall> ConvolutionCall::make(std::shared_ptr<const CudnnLibrary> library,
                                                     const plan::ConvolutionT &convolution,
                                                     const ConvolutionOperands &operands, bool isShort) {
  std::string key = textOf(convolution) + (isShort ? " short" : "");
  for (CUdeviceptr operand : operands)
    key += " " + std::to_string(alignmentOf(operand));
  ConvolutionCall call;
  call.graph = library->choose(key, [&](dnn::Graph &graph) {
    return describe(graph, convolution, operands, library->multipliesNarrow() || isShort);
  });
  if (!call.graph)
    return std::nullopt;
  call.library = std::move(library);
  call.operands = operands;
  return call;
}

void ConvolutionCall::enqueue(CUdeviceptr workspace, CUstream stream) const {
  const int64_t ids[] = {0, 1, 2}; // of `ConvolutionTensor`
  std::array<void *, 3> addresses{};
  std::ranges::transform(operands, addresses.begin(),
                         [](CUdeviceptr at) { return reinterpret_cast<void *>(at); });
  library->execute(*graph, ids, addresses, workspace, stream);
}

} // namespace epl::runtime::cuda
