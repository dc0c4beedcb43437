//===- MatmulArguments.h - What the kernels of the stand-in of cublasLt take -*- C++ -*-===//
#pragma once

namespace cublas_double {

/// d = epilogue(alpha op(a) op(b) + beta c), on matrices in columns. op(a) is m x k, op(b) is k x n.
struct MatmulArguments {
  unsigned long a, b, c, d, workspace;
  long m, n, k, leadingA, leadingB, leadingC, leadingD;
  long batches, strideA, strideB, strideC, strideD;
  int transposeA, transposeB;
  double alpha, beta;
  int epilogue;       ///< of the library's
  unsigned long bias; ///< of m elements, or 0
};

} // namespace cublas_double
