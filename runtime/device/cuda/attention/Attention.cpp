// Attention as a graph of single operations, in which the library recognizes it in all its versions. (Its one
// operation for attention knows causal masks from version 9.21 on.) A row's maximum and the logarithm of its
// sum, which gradients would need, are written in any case: without that the library has no engine.
#include "runtime/device/cuda/attention/Attention.h"

#include <algorithm>
#include <limits>

namespace epl::runtime::cuda {

using dnn::Attribute;
using dnn::DataType;
using dnn::Kind;
using dnn::OwnDescriptor;
using dnn::PointwiseMode;
using dnn::ReductionOperator;
using dnn::ValueType;

using Numbers = std::array<int64_t, 4>;

// What tensors are called, in a graph and in its calls; those between operations have numbers behind these.
enum TensorId : int64_t { kQ, kK, kV, kO, kStats, kScale, kMask, kFirstVirtual };

static Numbers stridesOf(const Numbers &extents) {
  return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
}

namespace {

class Maker {
public:
  Maker(dnn::Graph &graph, const AttentionShape &shape, const AttentionOperands &operands)
      : graph(graph), shape(shape), operands(operands),
        pairs{shape.q.extents[0], shape.q.extents[1], shape.q.extents[2], shape.k.extents[2]},
        rows{pairs[0], pairs[1], pairs[2], 1} {}

  /// Describes attention to the library. Whether that takes it.
  bool make() {
    AttentionTensor transposed = shape.k;
    std::swap(transposed.extents[2], transposed.extents[3]);
    std::swap(transposed.strides[2], transposed.strides[3]);
    OwnDescriptor *scores = &multiply(addOperand(kQ, shape.q), addOperand(kK, transposed), addBetween(pairs));
    scores = &apply(PointwiseMode::multiply, *scores, &addScalar(kScale), addBetween(pairs));
    if (shape.isCausal)
      scores = &mask(*scores);
    OwnDescriptor &most = reduce(ReductionOperator::maximum, *scores);
    OwnDescriptor &difference = apply(PointwiseMode::subtract, *scores, &most, addBetween(pairs));
    OwnDescriptor &exponential = apply(PointwiseMode::exp, difference, nullptr, addBetween(pairs));
    OwnDescriptor &sum = reduce(ReductionOperator::add, exponential);
    OwnDescriptor &logarithm = apply(PointwiseMode::log, sum, nullptr, addBetween(rows));
    apply(PointwiseMode::add, most, &logarithm, addTensor(kStats, DataType::f32, rows, stridesOf(rows), 256));
    OwnDescriptor &softmax =
        apply(PointwiseMode::divide, exponential, &sum, addBetween(pairs, cudnnTypeOf(shape.type)));
    multiply(softmax, addOperand(kV, shape.v), addOperand(kO, shape.o));
    return graph.plan(/*takesNarrow=*/true);
  }

private:
  /// One that has all but what is special to it.
  OwnDescriptor &beginTensor(int64_t id, DataType type, const Numbers &extents, const Numbers &strides,
                             int64_t alignment) {
    return graph.add(Kind::tensor)
        .set(Attribute::tensorType, ValueType::dataType, type)
        .set(Attribute::tensorExtents, ValueType::int64, std::span<const int64_t>(extents))
        .set(Attribute::tensorStrides, ValueType::int64, std::span<const int64_t>(strides))
        .set(Attribute::tensorId, ValueType::int64, id)
        .set(Attribute::tensorAlignment, ValueType::int64, alignment);
  }
  static OwnDescriptor &finished(OwnDescriptor &made) {
    made.finish();
    return made;
  }
  OwnDescriptor &addTensor(int64_t id, DataType type, const Numbers &extents, const Numbers &strides,
                           int64_t alignment) {
    return finished(beginTensor(id, type, extents, strides, alignment));
  }
  OwnDescriptor &addOperand(TensorId id, const AttentionTensor &tensor) {
    return addTensor(id, cudnnTypeOf(shape.type), tensor.extents, tensor.strides,
                     int64_t(alignmentOf(operands[size_t(id)])));
  }
  /// What is between operations.
  OwnDescriptor &addBetween(const Numbers &extents, DataType type = DataType::f32) {
    return finished(beginTensor(next++, type, extents, stridesOf(extents), 16)
                        .set(Attribute::tensorIsVirtual, ValueType::boolean, true));
  }
  OwnDescriptor &addScalar(TensorId id) {
    return finished(beginTensor(id, DataType::f32, {1, 1, 1, 1}, {1, 1, 1, 1}, alignof(float))
                        .set(Attribute::tensorIsByValue, ValueType::boolean, true));
  }

  OwnDescriptor &multiply(OwnDescriptor &a, OwnDescriptor &b, OwnDescriptor &c) {
    OwnDescriptor &product =
        finished(graph.add(Kind::product).set(Attribute::productType, ValueType::dataType, DataType::f32));
    graph.addOperation(graph.add(Kind::productOperation)
                           .set(Attribute::productDescriptor, product)
                           .set(Attribute::productA, a)
                           .set(Attribute::productB, b)
                           .set(Attribute::productC, c));
    return c;
  }

  /// y = f(x), f(x, b), or condition ? x : b; a position is along an axis.
  OwnDescriptor &apply(PointwiseMode mode, OwnDescriptor &x, const OwnDescriptor *b, OwnDescriptor &y,
                       const OwnDescriptor *condition = nullptr, int64_t axis = -1) {
    OwnDescriptor &pointwise = graph.add(Kind::pointwise)
                                   .set(Attribute::pointwiseMode, ValueType::pointwiseMode, mode)
                                   .set(Attribute::pointwiseType, ValueType::dataType, DataType::f32);
    if (axis >= 0)
      pointwise.set(Attribute::pointwiseAxis, ValueType::int64, axis);
    OwnDescriptor &operation = graph.add(Kind::pointwiseOperation)
                                   .set(Attribute::pointwiseDescriptor, finished(pointwise))
                                   .set(Attribute::pointwiseX, x)
                                   .set(Attribute::pointwiseY, y);
    if (b)
      operation.set(Attribute::pointwiseB, *b);
    if (condition)
      operation.set(Attribute::pointwiseT, *condition);
    graph.addOperation(operation);
    return y;
  }

  OwnDescriptor &reduce(ReductionOperator by, OwnDescriptor &x) {
    OwnDescriptor &reduction =
        finished(graph.add(Kind::reduction)
                     .set(Attribute::reductionOperator, ValueType::reductionOperator, by)
                     .set(Attribute::reductionType, ValueType::dataType, DataType::f32));
    OwnDescriptor &y = addBetween(rows);
    graph.addOperation(graph.add(Kind::reductionOperation)
                           .set(Attribute::reductionDescriptor, reduction)
                           .set(Attribute::reductionX, x)
                           .set(Attribute::reductionY, y));
    return y;
  }

  /// Scores up to the diagonal.
  OwnDescriptor &mask(OwnDescriptor &scores) {
    OwnDescriptor &row =
        apply(PointwiseMode::position, scores, nullptr, addBetween(pairs, DataType::i32), nullptr, 2);
    OwnDescriptor &column =
        apply(PointwiseMode::position, scores, nullptr, addBetween(pairs, DataType::i32), nullptr, 3);
    OwnDescriptor &isKept =
        apply(PointwiseMode::isAtLeast, row, &column, addBetween(pairs, DataType::boolean));
    return apply(PointwiseMode::select, scores, &addScalar(kMask), addBetween(pairs), &isKept);
  }

  dnn::Graph &graph;
  const AttentionShape &shape;
  const AttentionOperands &operands;
  const Numbers pairs, rows; // of queries and keys; of queries
  int64_t next = kFirstVirtual;
};

} // namespace

std::optional<AttentionCall> AttentionCall::make(std::shared_ptr<const CudnnLibrary> library,
                                                 const AttentionShape &shape,
                                                 const AttentionOperands &operands) {
  std::string key = "attention of " + textOf(shape);
  for (CUdeviceptr operand : operands)
    key += " " + std::to_string(alignmentOf(operand));
  AttentionCall call;
  call.graph = library->choose(key, [&](dnn::Graph &graph) { return Maker(graph, shape, operands).make(); });
  if (!call.graph)
    return std::nullopt;
  call.library = std::move(library);
  call.operands = operands;
  call.scale = shape.scale;
  call.isCausal = shape.isCausal;
  const Numbers &extents = shape.q.extents;
  size_t bytes = size_t(extents[0] * extents[1] * extents[2]) * sizeof(float);
  call.statsBytes = (bytes + 255) / 256 * 256; // what is behind it is aligned
  return call;
}

void AttentionCall::enqueue(CUdeviceptr workspace, CUstream stream) const {
  float factor = scale, masked = -std::numeric_limits<float>::infinity();
  const int64_t ids[] = {kQ, kK, kV, kO, kStats, kScale, kMask};
  std::array<void *, 7> addresses{};
  std::ranges::transform(operands, addresses.begin(),
                         [](CUdeviceptr at) { return reinterpret_cast<void *>(at); });
  addresses[kStats] = reinterpret_cast<void *>(workspace);
  addresses[kScale] = &factor;
  addresses[kMask] = &masked;
  const size_t count = isCausal ? addresses.size() : size_t(kMask);
  library->execute(*graph, std::span(ids).first(count), std::span<void *const>(addresses).first(count),
                   workspace + statsBytes, stream);
}

} // namespace epl::runtime::cuda
