// What the plugin's own kernels take: known to the host and to the card.
#ifndef EPL_RUNTIME_DEVICE_CUDA_KERNELS_ARGUMENTS_H
#define EPL_RUNTIME_DEVICE_CUDA_KERNELS_ARGUMENTS_H

namespace epl::runtime::cuda {

/// Bytes that are copied; addresses on any card.
struct CopyRun {
  unsigned long to, from, bytes;
};

/// Elements that are combined: those of all members, in member order, into `to`. Members' addresses begin at
/// index `sources` of a table.
struct SumRun {
  unsigned long to, sources, count;
};

/// A guard of a command: the address of a flag, and what it must be. A list of them ends with a flag at 0.
struct Condition {
  unsigned long flag, expected;
};

constexpr int kMostBatchDims = 8;

/// c = op(a) op(b) (+ c), or activation(op(a) op(b) + bias), as in the plan's Contract, where all of
/// `conditions` hold or there are none.
struct ContractArguments {
  unsigned long a, b, c;
  long m, n, k, lda, ldb, ldc;
  int transposeA, transposeB, accumulate;
  int batchDims;
  long extent[kMostBatchDims], strideA[kMostBatchDims], strideB[kMostBatchDims], strideC[kMostBatchDims];
  long elements;            ///< of c
  unsigned long conditions; ///< the address of a list of them, or 0
  unsigned long bias;       ///< 0: none
  int activation;           ///< of the plan's Activation
};

/// Matrices in rows, one behind another: `to` is `from`, or each of it transposed. Where it is not, both may
/// be at one place.
struct MatrixArguments {
  unsigned long from, to;
  long rows, columns, count; ///< of `from`
  int transpose;
  int lower; ///< what is above the diagonal of `from` is not read, but 0
  unsigned long
      odd; ///< 0, or of each matrix an int, which becomes 1 if an element is not finite: that is 0 in `to`
  unsigned long
      failed[2]; ///< each 0, or of each matrix an int: where it is not 0, all elements of `to` are NaN
};

/// What rows changed places with in a factorization: numbers of 64 bits from 1 on, `smaller` of each matrix.
/// To `pivots` they go as numbers of 32 bits from 0 on, to `permutation` where all `rows` are then.
struct PivotArguments {
  unsigned long from, pivots, permutation;
  long rows, smaller, count;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_KERNELS_ARGUMENTS_H
