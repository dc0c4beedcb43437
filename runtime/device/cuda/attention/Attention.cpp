// Attention as a graph of single operations, in which the library recognizes it in all its versions. (Its one
// operation for attention knows causal masks from version 9.21 on.) A row's maximum and the logarithm of its
// sum, which gradients need, are written in any case: without that the library has no engine.
#include "runtime/device/cuda/attention/Attention.h"

#include "runtime/device/cuda/attention/AttentionGraph.h"

#include <limits>

namespace epl::runtime::cuda {

using dnn::PointwiseMode;
using dnn::ReductionOperator;
using Tensor = AttentionGraph::Tensor;

/// Describes attention to the library. Whether that takes it.
static bool describe(dnn::Graph &made, const AttentionShape &shape, const AttentionOperands &operands) {
  AttentionGraph graph(made, shape);
  Tensor *scores = &graph.multiply(graph.addOperand(TensorId::q, shape.q, operands.q),
                                   graph.addOperand(TensorId::k, transposed(shape.k), operands.k),
                                   graph.addBetween(graph.pairs));
  scores = &graph.apply(PointwiseMode::multiply, *scores, &graph.addScalar(TensorId::scale),
                        graph.addBetween(graph.pairs));
  if (shape.isCausal)
    scores = &graph.mask(*scores);
  Tensor &most = graph.reduce(ReductionOperator::maximum, *scores);
  Tensor &difference = graph.apply(PointwiseMode::subtract, *scores, &most, graph.addBetween(graph.pairs));
  Tensor &exponential = graph.apply(PointwiseMode::exp, difference, nullptr, graph.addBetween(graph.pairs));
  Tensor &sum = graph.reduce(ReductionOperator::add, exponential);
  Tensor &logarithm = graph.apply(PointwiseMode::log, sum, nullptr, graph.addBetween(graph.rows));
  graph.apply(PointwiseMode::add, most, &logarithm, graph.addRows(TensorId::stats, operands.stats));
  Tensor &softmax = graph.apply(PointwiseMode::divide, exponential, &sum, graph.addNarrow(graph.pairs));
  graph.multiply(softmax, graph.addOperand(TensorId::v, shape.v, operands.v),
                 graph.addOperand(TensorId::o, shape.o, operands.o));
  return made.plan(/*takesNarrow=*/true);
}

std::optional<AttentionCall> AttentionCall::make(std::shared_ptr<const CudnnLibrary> library,
                                                 const AttentionShape &shape,
                                                 const AttentionOperands &operands) {
  std::string key = "attention of " + textOf(shape);
  for (CUdeviceptr operand : {operands.q, operands.k, operands.v, operands.o, operands.stats})
    key += " " + std::to_string(alignmentOf(operand));
  AttentionCall call;
  call.graph = library->choose(key, [&](dnn::Graph &graph) { return describe(graph, shape, operands); });
  if (!call.graph)
    return std::nullopt;
  call.library = std::move(library);
  call.operands = operands;
  call.scale = shape.scale;
  call.isCausal = shape.isCausal;
  call.statsBytes = operands.stats ? 0 : rowBytesOf(shape);
  return call;
}

void AttentionCall::enqueue(CUdeviceptr workspace, CUstream stream) const {
  float factor = scale, masked = -std::numeric_limits<float>::infinity();
  PackedTensors tensors;
  tensors.add(int64_t(TensorId::q), operands.q);
  tensors.add(int64_t(TensorId::k), operands.k);
  tensors.add(int64_t(TensorId::v), operands.v);
  tensors.add(int64_t(TensorId::o), operands.o);
  tensors.add(int64_t(TensorId::stats), operands.stats ? operands.stats : workspace);
  tensors.add(int64_t(TensorId::scale), &factor);
  if (isCausal)
    tensors.add(int64_t(TensorId::mask), &masked);
  library->execute(*graph, tensors.ids, tensors.addresses, workspace + statsBytes, stream);
}

} // namespace epl::runtime::cuda
