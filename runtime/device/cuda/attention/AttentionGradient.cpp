// The gradient of attention as a graph of single operations, in which the library recognizes it:
//   p = exp(scale q k^T - stats), dv = p^T dO, ds = scale p (dO v^T - rows of dO o summed), dq = ds k,
//   dk = ds^T q.
// The graph that most use has dq as sums in f32 that blocks add to memory as they come. Where dq is a product
// like the others the library puts ds into its workspace, two bytes for a pair of positions, and all sums
// have an order: NVIDIA's own frontend takes that graph where it is asked for determinism. What the
// commands that this takes the place of hand to one another is twice as much, or more, so that is what the
// library may have.
#include "runtime/device/cuda/attention/AttentionGradient.h"

#include "runtime/device/cuda/attention/AttentionGraph.h"

#include <limits>

namespace epl::runtime::cuda {

using dnn::PointwiseMode;
using dnn::ReductionOperator;
using Tensor = AttentionGraph::Tensor;

// Up to this version engines read beyond the keys where these fill no block: the frontend hands them lengths.
static constexpr size_t kLastOfWholeBlocks = 91500;
static constexpr int64_t kBlock = 128;
// From this architecture on the graph has engines of either kind, and their notes do not tell which they are.
static constexpr uint32_t kFirstWithoutOrder = 100;
// Of a pair of positions: the gradients of the softmax and of the scores, in 16 bits or more.
static constexpr int64_t kPairBytes = 2 + 2;

static bool isKnown(const CudnnLibrary &library, const AttentionShape &shape) {
  return library.architecture() < kFirstWithoutOrder &&
         (library.version() > kLastOfWholeBlocks || shape.k.extents[2] % kBlock == 0);
}

/// Describes it to the library. Whether that takes it.
static bool describe(dnn::Graph &made, const AttentionGradientShape &shape,
                     const AttentionGradientOperands &operands) {
  const AttentionShape &own = shape.attention;
  AttentionGraph graph(made, own);
  const AttentionGraph::Extents &pairs = graph.pairs;
  Tensor &q = graph.addOperand(TensorId::q, own.q, operands.q),
         &k = graph.addOperand(TensorId::k, transposed(own.k), operands.k),
         &v = graph.addOperand(TensorId::v, transposed(own.v), operands.v),
         &o = graph.addOperand(TensorId::o, own.o, operands.o),
         &dO = graph.addOperand(TensorId::dO, shape.dO, operands.dO),
         &scale = graph.addScalar(TensorId::scale), &rowSums = graph.addRows(TensorId::rowSums);
  Tensor &weighted = graph.apply(PointwiseMode::multiply, dO, &o, graph.addBetween(own.o.extents));
  graph.apply(PointwiseMode::multiply, graph.reduce(ReductionOperator::add, weighted),
              &graph.addScalar(TensorId::one), rowSums);

  Tensor *scores = &graph.multiply(q, k, graph.addBetween(pairs));
  scores = &graph.apply(PointwiseMode::multiply, *scores, &scale, graph.addBetween(pairs));
  scores = &graph.apply(PointwiseMode::subtract, *scores, &graph.addRows(TensorId::stats, operands.stats),
                        graph.addBetween(pairs));
  if (own.isCausal)
    scores = &graph.mask(*scores);
  Tensor &p = graph.apply(PointwiseMode::exp, *scores, nullptr, graph.addBetween(pairs));
  const AttentionTensor matrices{
      0, pairs, {pairs[1] * pairs[2] * pairs[3], pairs[2] * pairs[3], pairs[3], 1}};
  graph.multiplyGroups(graph.transpose(p, matrices), dO,
                       graph.addOperand(TensorId::dv, shape.dv, operands.dv), shape.dv);

  Tensor &dp = graph.multiply(dO, v, graph.addBetween(pairs));
  Tensor &difference = graph.apply(PointwiseMode::subtract, dp, &rowSums, graph.addBetween(pairs));
  Tensor &product = graph.apply(PointwiseMode::multiply, difference, &p, graph.addBetween(pairs));
  Tensor &ds = graph.apply(PointwiseMode::multiply, product, &scale, graph.addBetween(pairs));
  graph.multiplyGroups(graph.transpose(ds, matrices), q,
                       graph.addOperand(TensorId::dk, shape.dk, operands.dk), shape.dk);
  graph.multiply(ds, graph.transpose(k, transposed(own.k)),
                 graph.addOperand(TensorId::dq, shape.dq, operands.dq));
  return made.plan(/*takesNarrow=*/true, pairs[0] * pairs[1] * pairs[2] * pairs[3] * kPairBytes);
}

std::optional<AttentionGradientCall> AttentionGradientCall::make(std::shared_ptr<const CudnnLibrary> library,
                                                                 const AttentionGradientShape &shape,
                                                                 const AttentionGradientOperands &operands) {
  if (!isKnown(*library, shape.attention))
    return std::nullopt;
  std::string key = "gradient of attention of " + textOf(shape);
  for (CUdeviceptr operand : {operands.q, operands.k, operands.v, operands.o, operands.stats, operands.dO,
                              operands.dq, operands.dk, operands.dv})
    key += " " + std::to_string(alignmentOf(operand));
  AttentionGradientCall call;
  call.graph = library->choose(key, [&](dnn::Graph &graph) { return describe(graph, shape, operands); });
  if (!call.graph)
    return std::nullopt;
  call.library = std::move(library);
  call.operands = operands;
  call.scale = shape.attention.scale;
  call.isCausal = shape.attention.isCausal;
  call.sumsBytes = rowBytesOf(shape.attention);
  return call;
}

void AttentionGradientCall::enqueue(CUdeviceptr workspace, CUstream stream) const {
  float factor = scale, one = 1, masked = -std::numeric_limits<float>::infinity();
  PackedTensors tensors;
  for (auto [id, address] : {std::pair(TensorId::q, operands.q), std::pair(TensorId::k, operands.k),
                             std::pair(TensorId::v, operands.v), std::pair(TensorId::o, operands.o),
                             std::pair(TensorId::stats, operands.stats), std::pair(TensorId::dO, operands.dO),
                             std::pair(TensorId::dq, operands.dq), std::pair(TensorId::dk, operands.dk),
                             std::pair(TensorId::dv, operands.dv), std::pair(TensorId::rowSums, workspace)})
    tensors.add(int64_t(id), address);
  tensors.add(int64_t(TensorId::scale), &factor);
  tensors.add(int64_t(TensorId::one), &one);
  if (isCausal)
    tensors.add(int64_t(TensorId::mask), &masked);
  library->execute(*graph, tensors.ids, tensors.addresses, workspace + sumsBytes, stream);
}

} // namespace epl::runtime::cuda
