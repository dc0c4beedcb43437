// The operations of attention and of its gradient, as descriptors of cuDNN.
#ifndef EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_GRAPH_H
#define EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_GRAPH_H

#include "runtime/device/cuda/cudnn/Library.h"
#include "runtime/plan/model/Attention.h"

namespace epl::runtime::cuda {

/// What tensors are called, in a graph and in its calls; those between operations have numbers behind these.
enum class TensorId : int64_t { q, k, v, o, stats, scale, mask, dO, dq, dk, dv, rowSums, one, firstVirtual };

/// Adds operations to a graph. What operations hand to one another is f32, but for what is multiplied.
class AttentionGraph {
public:
  using Extents = std::array<int64_t, 4>;
  using Tensor = dnn::OwnDescriptor;

  AttentionGraph(dnn::Graph &graph, const AttentionShape &shape)
      : pairs{shape.q.extents[0], shape.q.extents[1], shape.q.extents[2], shape.k.extents[2]},
        rows{pairs[0], pairs[1], pairs[2], 1}, graph(graph), type(cudnnTypeOf(shape.type)) {}

  /// An operand at an address of some alignment.
  Tensor &addOperand(TensorId id, const AttentionTensor &tensor, CUdeviceptr address);
  /// A float for each row, side by side; without an address it is where a workspace begins.
  Tensor &addRows(TensorId id, CUdeviceptr address = 0);
  /// What is between operations, rows side by side.
  Tensor &addBetween(const Extents &extents) { return addBetween(extents, dnn::DataType::f32); }
  /// The same in the type of the operands.
  Tensor &addNarrow(const Extents &extents) { return addBetween(extents, type); }
  /// A number that calls pass by value.
  Tensor &addScalar(TensorId id);

  Tensor &multiply(Tensor &a, Tensor &b, Tensor &c);
  /// y = f(x), f(x, b), or condition ? x : b; a position is along an axis.
  Tensor &apply(dnn::PointwiseMode mode, Tensor &x, const Tensor *b, Tensor &y,
                const Tensor *condition = nullptr, int64_t axis = -1);
  /// Combines the elements of each row.
  Tensor &reduce(dnn::ReductionOperator by, Tensor &x);
  /// a b with a matrix for each head of q, as `c`, which has the sums of each group's where it has fewer
  /// heads.
  Tensor &multiplyGroups(Tensor &a, Tensor &b, Tensor &c, const AttentionTensor &made);
  /// `x`, of matrices of some extents, as the tensor whose matrices are transposed, in the operands' type.
  Tensor &transpose(Tensor &x, const AttentionTensor &like);
  /// Scores up to the diagonal, beside them those that calls pass as the mask.
  Tensor &mask(Tensor &scores);

  const Extents pairs, rows; ///< of queries and keys; of queries

private:
  Tensor &beginTensor(int64_t id, dnn::DataType type, const Extents &extents, const Extents &strides,
                      int64_t alignment);
  Tensor &addBetween(const Extents &extents, dnn::DataType type);
  void reduce(dnn::ReductionOperator by, Tensor &x, Tensor &y);

  dnn::Graph &graph;
  dnn::DataType type;
  int64_t next = int64_t(TensorId::firstVirtual);
};

/// The tensor as that of transposed matrices.
AttentionTensor transposed(AttentionTensor tensor);

/// Bytes of a float for each row; what is behind them is aligned.
size_t rowBytesOf(const AttentionShape &shape);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_ATTENTION_ATTENTION_GRAPH_H
