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

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_KERNELS_ARGUMENTS_H
