#include "runtime/device/cuda/attention/AttentionGraph.h"

#include "runtime/device/cuda/LibraryWork.h"

#include <utility>

namespace epl::runtime::cuda {

using dnn::Attribute;
using dnn::DataType;
using dnn::Kind;
using dnn::PointwiseMode;
using dnn::ValueType;
using Extents = AttentionGraph::Extents;
using Tensor = AttentionGraph::Tensor;

static Extents stridesOf(const Extents &extents) {
  return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
}

static Tensor &finished(Tensor &made) {
  made.finish();
  return made;
}

/// One that has all but what is special to it.
Tensor &AttentionGraph::beginTensor(int64_t id, DataType type, const Extents &extents, const Extents &strides,
                                    int64_t alignment) {
  return graph.add(Kind::tensor)
      .set(Attribute::tensorType, ValueType::dataType, type)
      .set(Attribute::tensorExtents, ValueType::int64, std::span<const int64_t>(extents))
      .set(Attribute::tensorStrides, ValueType::int64, std::span<const int64_t>(strides))
      .set(Attribute::tensorId, ValueType::int64, id)
      .set(Attribute::tensorAlignment, ValueType::int64, alignment);
}

Tensor &AttentionGraph::addOperand(TensorId id, const AttentionTensor &tensor, CUdeviceptr address) {
  return finished(
      beginTensor(int64_t(id), type, tensor.extents, tensor.strides, int64_t(alignmentOf(address))));
}

Tensor &AttentionGraph::addRows(TensorId id, CUdeviceptr address) {
  return finished(
      beginTensor(int64_t(id), DataType::f32, rows, stridesOf(rows), int64_t(alignmentOf(address))));
}

Tensor &AttentionGraph::addBetween(const Extents &extents, DataType type) {
  return finished(beginTensor(next++, type, extents, stridesOf(extents), 16)
                      .set(Attribute::tensorIsVirtual, ValueType::boolean, true));
}

Tensor &AttentionGraph::addScalar(TensorId id) {
  return finished(beginTensor(int64_t(id), DataType::f32, {1, 1, 1, 1}, {1, 1, 1, 1}, alignof(float))
                      .set(Attribute::tensorIsByValue, ValueType::boolean, true));
}

Tensor &AttentionGraph::multiply(Tensor &a, Tensor &b, Tensor &c) {
  Tensor &product =
      finished(graph.add(Kind::product).set(Attribute::productType, ValueType::dataType, DataType::f32));
  graph.addOperation(graph.add(Kind::productOperation)
                         .set(Attribute::productDescriptor, product)
                         .set(Attribute::productA, a)
                         .set(Attribute::productB, b)
                         .set(Attribute::productC, c));
  return c;
}

Tensor &AttentionGraph::apply(PointwiseMode mode, Tensor &x, const Tensor *b, Tensor &y,
                              const Tensor *condition, int64_t axis) {
  Tensor &pointwise = graph.add(Kind::pointwise)
                          .set(Attribute::pointwiseMode, ValueType::pointwiseMode, mode)
                          .set(Attribute::pointwiseType, ValueType::dataType, DataType::f32);
  if (axis >= 0)
    pointwise.set(Attribute::pointwiseAxis, ValueType::int64, axis);
  Tensor &operation = graph.add(Kind::pointwiseOperation)
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

void AttentionGraph::reduce(dnn::ReductionOperator by, Tensor &x, Tensor &y) {
  Tensor &reduction = finished(graph.add(Kind::reduction)
                                   .set(Attribute::reductionOperator, ValueType::reductionOperator, by)
                                   .set(Attribute::reductionType, ValueType::dataType, DataType::f32));
  graph.addOperation(graph.add(Kind::reductionOperation)
                         .set(Attribute::reductionDescriptor, reduction)
                         .set(Attribute::reductionX, x)
                         .set(Attribute::reductionY, y));
}

Tensor &AttentionGraph::reduce(dnn::ReductionOperator by, Tensor &x) {
  Tensor &y = addBetween(rows);
  reduce(by, x, y);
  return y;
}

Tensor &AttentionGraph::multiplyGroups(Tensor &a, Tensor &b, Tensor &c, const AttentionTensor &made) {
  Extents all = made.extents;
  all[1] = pairs[1];
  if (all == made.extents)
    return multiply(a, b, c);
  reduce(dnn::ReductionOperator::add, multiply(a, b, addNarrow(all)), c);
  return c;
}

Tensor &AttentionGraph::transpose(Tensor &x, const AttentionTensor &like) {
  AttentionTensor made = transposed(like);
  Tensor &y = finished(beginTensor(next++, type, made.extents, made.strides, 16)
                           .set(Attribute::tensorIsVirtual, ValueType::boolean, true));
  graph.addOperation(
      graph.add(Kind::reshapeOperation).set(Attribute::reshapeX, x).set(Attribute::reshapeY, y));
  return y;
}

Tensor &AttentionGraph::mask(Tensor &scores) {
  Tensor &row = apply(PointwiseMode::position, scores, nullptr, addBetween(pairs, DataType::i32), nullptr, 2);
  Tensor &column =
      apply(PointwiseMode::position, scores, nullptr, addBetween(pairs, DataType::i32), nullptr, 3);
  Tensor &isKept = apply(PointwiseMode::isAtLeast, row, &column, addBetween(pairs, DataType::boolean));
  return apply(PointwiseMode::select, scores, &addScalar(TensorId::mask), addBetween(pairs), &isKept);
}

AttentionTensor transposed(AttentionTensor tensor) {
  std::swap(tensor.extents[2], tensor.extents[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

size_t rowBytesOf(const AttentionShape &shape) {
  const Extents &extents = shape.q.extents;
  size_t bytes = size_t(extents[0] * extents[1] * extents[2]) * sizeof(float);
  size_t alignment = alignmentOf(0);
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace epl::runtime::cuda
