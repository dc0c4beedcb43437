//===- Attend.cpp - Kernels of attention of the stand-in of cuDNN -------------------===//
//
// An element of o, or of a gradient, for each thread. Sums are in an order of their own, as the library
// promises none: from the last summand to the first. A row of the softmax is rounded to the type of v before
// it is multiplied. A word of the workspace is written, so that two calls that have one at a time are found.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/Floats.h"
#include "test/cuda/libraries/cudnn/AttendArguments.h"

using cudnn_double::AttendArguments;
using cudnn_double::AttendGradientArguments;
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
      sum += widen(at(x.q, sample, head, query, i)) * widen(at(x.k, sample, head / x.group, key, i));
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
      result += widen(weight) * widen(at(x.v, sample, head / x.group, key, element));
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

template <typename T> struct Gradient {
  const AttendGradientArguments &x;

  static T &at(const AttendTensor &tensor, long sample, long head, long position, long element) {
    return Attention<T>::at(tensor, sample, head, position, element);
  }

  long rowOf(long sample, long head, long query) const {
    return (sample * x.heads + head) * x.queries + query;
  }
  bool isKept(long query, long key) const { return !x.isCausal || key <= query; }

  float weight(long sample, long head, long query, long key) const {
    float sum = 0;
    for (long i = x.depth; i-- > 0;)
      sum += widen(at(x.q, sample, head, query, i)) * widen(at(x.k, sample, head / x.group, key, i));
    float stats = reinterpret_cast<const float *>(x.stats)[rowOf(sample, head, query)];
    return exponential(sum * x.scale - stats);
  }

  float rowSum(long sample, long head, long query) const {
    float sum = 0;
    for (long i = x.width; i-- > 0;)
      sum += widen(at(x.dO, sample, head, query, i)) * widen(at(x.o, sample, head, query, i));
    return sum * x.one;
  }

  /// The gradient of a score, rounded as tensor cores take it.
  float score(long sample, long head, long query, long key) const {
    float sum = 0;
    for (long i = x.width; i-- > 0;)
      sum += widen(at(x.dO, sample, head, query, i)) * widen(at(x.v, sample, head / x.group, key, i));
    T rounded;
    store(rounded, (sum - rowSum(sample, head, query)) * weight(sample, head, query, key) * x.scale);
    return widen(rounded);
  }

  void runQuery(long sample, long head, long query, long element) const {
    float sum = 0;
    for (long key = x.keys; key-- > 0;)
      if (isKept(query, key))
        sum += score(sample, head, query, key) * widen(at(x.k, sample, head / x.group, key, element));
    store(at(x.dq, sample, head, query, element), sum);
    if (element == 0)
      reinterpret_cast<float *>(x.rowSums)[rowOf(sample, head, query)] = rowSum(sample, head, query);
  }

  float ofKey(long sample, long head, long key, long element) const {
    float sum = 0;
    for (long query = x.queries; query-- > 0;)
      if (isKept(query, key))
        sum += score(sample, head, query, key) * widen(at(x.q, sample, head, query, element));
    return sum;
  }

  float ofValue(long sample, long head, long key, long element) const {
    float sum = 0;
    for (long query = x.queries; query-- > 0;)
      if (isKept(query, key)) {
        T rounded;
        store(rounded, weight(sample, head, query, key));
        sum += widen(rounded) * widen(at(x.dO, sample, head, query, element));
      }
    return sum;
  }

  /// What the heads of q have of one of k and v, each rounded before they are added.
  template <typename Of> float sumGroup(long head, Of of) const {
    float sum = 0;
    for (long i = x.group; i-- > 0;) {
      T rounded;
      store(rounded, of(head * x.group + i));
      sum += widen(rounded);
    }
    return sum;
  }

  void runKey(long sample, long head, long key, long element) const {
    store(at(x.dk, sample, head, key, element),
          sumGroup(head, [&](long each) { return ofKey(sample, each, key, element); }));
  }

  void runValue(long sample, long head, long key, long element) const {
    store(at(x.dv, sample, head, key, element),
          sumGroup(head, [&](long each) { return ofValue(sample, each, key, element); }));
  }

  template <typename Run> void each(long heads, long positions, long width, Run run) const {
    for (long i = threadNumber(); i < x.samples * heads * positions * width; i += threadCount()) {
      long row = i / width, matrix = row / positions;
      run(matrix / heads, matrix % heads, row % positions, i % width);
    }
  }

  void run() const {
    if (threadNumber() == 0)
      *reinterpret_cast<unsigned long *>(x.workspace) = x.dq.pointer;
    long heads = x.heads / x.group;
    each(x.heads, x.queries, x.depth, [&](long b, long h, long t, long e) { runQuery(b, h, t, e); });
    each(heads, x.keys, x.depth, [&](long b, long h, long t, long e) { runKey(b, h, t, e); });
    each(heads, x.keys, x.width, [&](long b, long h, long t, long e) { runValue(b, h, t, e); });
  }
};

} // namespace

#define KERNEL extern "C" __attribute__((device_kernel))

KERNEL void attend_f16(AttendArguments x) { Attention<_Float16>{x}.run(); }
KERNEL void attend_bf16(AttendArguments x) { Attention<BFloat16>{x}.run(); }
KERNEL void attend_back_f16(AttendGradientArguments x) { Gradient<_Float16>{x}.run(); }
KERNEL void attend_back_bf16(AttendGradientArguments x) { Gradient<BFloat16>{x}.run(); }
