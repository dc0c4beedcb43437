//===- Attend.cpp - Kernels of attention of the stand-in of cuDNN -------------------===//
//
// An element of o for each thread. Sums are in an order of their own, as the library promises none: from the
// last summand to the first. A row of the softmax is rounded to the type of v before it is multiplied. A word
// of the workspace is written, so that two calls that have one at a time are found.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/Floats.h"
#include "test/cuda/libraries/cudnn/AttendArguments.h"

using cudnn_double::AttendArguments;
using cudnn_double::AttendTensor;

namespace {

constexpr float kLog2OfE = 1.44269504F, kLogOf2 = 0.693147181F;

float exponential(float x) { return __nvvm_ex2_approx_f(x * kLog2OfE); }
float logarithm(float x) { return __nvvm_lg2_approx_f(x) * kLogOf2; }

template <typename T> struct Attention {
  const AttendArguments &x;

  static T &at(const AttendTensor &tensor, long sample, long head, long position, long element) {
    return reinterpret_cast<T *>(tensor.pointer)[sample * tensor.strides[0] + head * tensor.strides[1] +
                                                 position * tensor.strides[2] + element * tensor.strides[3]];
  }

  float score(long sample, long head, long query, long key) const {
    float sum = 0;
    for (long i = x.depth; i-- > 0;)
      sum += widen(at(x.q, sample, head, query, i)) * widen(at(x.k, sample, head, key, i));
    return sum * x.scale;
  }

  void runElement(long sample, long head, long query, long element, long row) const {
    long keys = x.isCausal && query + 1 < x.keys ? query + 1 : x.keys;
    float most = score(sample, head, query, 0);
    for (long key = keys; key-- > 1;) {
      float other = score(sample, head, query, key);
      most = other > most ? other : most;
    }
    float sum = 0, result = 0;
    for (long key = keys; key-- > 0;)
      sum += exponential(score(sample, head, query, key) - most);
    for (long key = keys; key-- > 0;) {
      T weight;
      store(weight, exponential(score(sample, head, query, key) - most) / sum);
      result += widen(weight) * widen(at(x.v, sample, head, key, element));
    }
    store(at(x.o, sample, head, query, element), result);
    if (element == 0)
      reinterpret_cast<float *>(x.stats)[row] = most + logarithm(sum);
  }

  void run() const {
    long count = x.samples * x.heads * x.queries * x.width;
    if (threadNumber() == 0)
      *reinterpret_cast<unsigned long *>(x.workspace) = x.o.pointer;
    for (long i = threadNumber(); i < count; i += threadCount()) {
      long row = i / x.width, query = row % x.queries, matrix = row / x.queries;
      runElement(matrix / x.heads, matrix % x.heads, query, i % x.width, row);
    }
  }
};

} // namespace

#define KERNEL extern "C" __attribute__((device_kernel))

KERNEL void attend_f16(AttendArguments x) { Attention<_Float16>{x}.run(); }
KERNEL void attend_bf16(AttendArguments x) { Attention<BFloat16>{x}.run(); }
