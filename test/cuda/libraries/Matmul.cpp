//===- Matmul.cpp - The kernels of the stand-in of cublasLt -----------------------===//
//
// An element of d for each thread. Sums are in an order of their own, as the library promises none: products
// with an even k come first. A word of the workspace is written, so that two calls that have one at a time
// are found.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/Floats.h"
#include "test/cuda/libraries/MatmulArguments.h"

using cublas_double::MatmulArguments;

namespace {

/// 2, 4 and 32 are bits of the library's epilogues.
template <typename Sum> Sum activate(Sum x, int epilogue) {
  if (epilogue & 2)
    return x > 0 || x != x ? x : Sum(0);
  if (epilogue & 32) {
    float y = 0.7978845608f * float(x + Sum(0.044715) * x * x * x);
    return Sum(0.5) * x * Sum(2 - 2 / (__nvvm_ex2_approx_ftz_f(2.885390082f * y) + 1));
  }
  return x;
}

template <typename Operand, typename Result, typename Sum> void multiply(const MatmulArguments &x) {
  long thread = threadNumber(), threads = threadCount();
  if (thread == 0)
    *reinterpret_cast<unsigned long *>(x.workspace) = x.d;
  for (long i = thread; i < x.m * x.n * x.batches; i += threads) {
    long row = i % x.m, column = i / x.m % x.n, batch = i / x.m / x.n;
    auto *a = reinterpret_cast<const Operand *>(x.a) + batch * x.strideA;
    auto *b = reinterpret_cast<const Operand *>(x.b) + batch * x.strideB;
    auto *c = reinterpret_cast<const Result *>(x.c) + batch * x.strideC;
    auto *d = reinterpret_cast<Result *>(x.d) + batch * x.strideD;
    Sum sum = 0;
    for (long half = 0; half < 2; ++half)
      for (long k = half; k < x.k; k += 2)
        sum += Sum(widen(a[x.transposeA ? row * x.leadingA + k : k * x.leadingA + row])) *
               Sum(widen(b[x.transposeB ? k * x.leadingB + column : column * x.leadingB + k]));
    sum *= Sum(x.alpha);
    if (x.beta != 0)
      sum += Sum(x.beta) * Sum(widen(c[column * x.leadingC + row]));
    if (x.epilogue & 4)
      sum += Sum(widen(reinterpret_cast<const Result *>(x.bias)[row]));
    store(d[column * x.leadingD + row], activate(sum, x.epilogue));
  }
}

} // namespace

#define KERNEL extern "C" __attribute__((device_kernel))

KERNEL void matmul_tf32_f32(MatmulArguments x) { multiply<Tf32, float, float>(x); }
KERNEL void matmul_f32_f32(MatmulArguments x) { multiply<float, float, float>(x); }
KERNEL void matmul_f64_f64(MatmulArguments x) { multiply<double, double, double>(x); }
KERNEL void matmul_f16_f16(MatmulArguments x) { multiply<_Float16, _Float16, float>(x); }
KERNEL void matmul_bf16_bf16(MatmulArguments x) { multiply<BFloat16, BFloat16, float>(x); }
KERNEL void matmul_f16_f32(MatmulArguments x) { multiply<_Float16, float, float>(x); }
KERNEL void matmul_bf16_f32(MatmulArguments x) { multiply<BFloat16, float, float>(x); }
