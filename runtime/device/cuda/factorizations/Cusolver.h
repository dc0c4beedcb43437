// The libraries cuSOLVER and cuBLAS, found when they are needed: nothing is linked. Their headers come with
// packages of hundreds of MB, so that what is used of them stands here;
// test/unit/cuda/plugin/CusolverTest.cpp compares it with them.
#ifndef EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_CUSOLVER_H
#define EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_CUSOLVER_H

#include "runtime/device/cuda/products/CublasLt.h"

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace epl::runtime::cuda::solver {

enum class Status : int {
  success = 0,
  notInitialized = 1,
  invalidValue = 3,
  executionFailed = 6,
  internalError = 7,
  invalidWorkspace = 31
};
enum class EigenMode : int { values = 0, vectors = 1 };

// Of matrices in columns. Those of cuBLAS.
using blas::DataType;
enum class Triangle : int { lower = 0, upper = 1 };
enum class Side : int { left = 0, right = 1 };
enum class Operation : int { none = 0, transpose = 1 };
enum class Diagonal : int { given = 0, ones = 1 };

using Handle = struct SolverT *;
using Params = struct ParamsT *;
using BlasHandle = struct BlasT *;

// NOLINTBEGIN(readability-identifier-naming): the libraries' names
using cusolverDnCreate = Status(Handle *);
using cusolverDnDestroy = Status(Handle);
using cusolverDnSetStream = Status(Handle, CUstream);
using cusolverDnCreateParams = Status(Params *);
using cusolverDnDestroyParams = Status(Params);
// Each with a function that says how many bytes it works in, on the card and on the host. `info`: an int on
// the card, not 0 if it has failed.
using cusolverDnXpotrf_bufferSize = Status(Handle, Params, Triangle, int64_t n, DataType, const void *a,
                                           int64_t lda, DataType compute, size_t *device, size_t *host);
using cusolverDnXpotrf = Status(Handle, Params, Triangle, int64_t n, DataType, void *a, int64_t lda,
                                DataType compute, void *device, size_t deviceBytes, void *host,
                                size_t hostBytes, int *info);
using cusolverDnXgetrf_bufferSize = Status(Handle, Params, int64_t m, int64_t n, DataType, const void *a,
                                           int64_t lda, DataType compute, size_t *device, size_t *host);
using cusolverDnXgetrf = Status(Handle, Params, int64_t m, int64_t n, DataType, void *a, int64_t lda,
                                int64_t *pivots, DataType compute, void *device, size_t deviceBytes,
                                void *host, size_t hostBytes, int *info);
using cusolverDnXgeqrf_bufferSize = Status(Handle, Params, int64_t m, int64_t n, DataType, const void *a,
                                           int64_t lda, DataType, const void *tau, DataType compute,
                                           size_t *device, size_t *host);
using cusolverDnXgeqrf = Status(Handle, Params, int64_t m, int64_t n, DataType, void *a, int64_t lda,
                                DataType, void *tau, DataType compute, void *device, size_t deviceBytes,
                                void *host, size_t hostBytes, int *info);
using cusolverDnXsyevd_bufferSize = Status(Handle, Params, EigenMode, Triangle, int64_t n, DataType,
                                           const void *a, int64_t lda, DataType, const void *w,
                                           DataType compute, size_t *device, size_t *host);
using cusolverDnXsyevd = Status(Handle, Params, EigenMode, Triangle, int64_t n, DataType, void *a,
                                int64_t lda, DataType, void *w, DataType compute, void *device,
                                size_t deviceBytes, void *host, size_t hostBytes, int *info);
using cusolverDnXgesvd_bufferSize = Status(Handle, Params, signed char jobU, signed char jobVt, int64_t m,
                                           int64_t n, DataType, const void *a, int64_t lda, DataType,
                                           const void *s, DataType, const void *u, int64_t ldu, DataType,
                                           const void *vt, int64_t ldvt, DataType compute, size_t *device,
                                           size_t *host);
/// m must be at least n.
using cusolverDnXgesvd = Status(Handle, Params, signed char jobU, signed char jobVt, int64_t m, int64_t n,
                                DataType, void *a, int64_t lda, DataType, void *s, DataType, void *u,
                                int64_t ldu, DataType, void *vt, int64_t ldvt, DataType compute, void *device,
                                size_t deviceBytes, void *host, size_t hostBytes, int *info);
// There is no 64-bit one. `length`: elements that it works in.
using cusolverDnSorgqr_bufferSize = Status(Handle, int m, int n, int k, const void *a, int lda,
                                           const void *tau, int *length);
using cusolverDnSorgqr = Status(Handle, int m, int n, int k, void *a, int lda, const void *tau, void *work,
                                int length, int *info);
using cusolverDnDorgqr_bufferSize = cusolverDnSorgqr_bufferSize;
using cusolverDnDorgqr = cusolverDnSorgqr;

using cublasCreate_v2 = blas::Status(BlasHandle *);
using cublasDestroy_v2 = blas::Status(BlasHandle);
using cublasSetStream_v2 = blas::Status(BlasHandle, CUstream);
/// After cublasSetStream, which sets another one.
using cublasSetWorkspace_v2 = blas::Status(BlasHandle, void *workspace, size_t bytes);
/// op(a) x = alpha b, or x op(a) = alpha b: x takes b's place.
using cublasStrsm_v2 = blas::Status(BlasHandle, Side, Triangle, Operation, Diagonal, int m, int n,
                                    const void *alpha, const void *a, int lda, void *b, int ldb);
using cublasDtrsm_v2 = cublasStrsm_v2;
// NOLINTEND(readability-identifier-naming)

/// All that is used of the libraries.
#define EPL_CUSOLVER_FUNCTIONS(DO)                                                                           \
  DO(cusolverDnCreate)                                                                                       \
  DO(cusolverDnDestroy)                                                                                      \
  DO(cusolverDnSetStream)                                                                                    \
  DO(cusolverDnCreateParams)                                                                                 \
  DO(cusolverDnDestroyParams)                                                                                \
  DO(cusolverDnXpotrf_bufferSize)                                                                            \
  DO(cusolverDnXpotrf)                                                                                       \
  DO(cusolverDnXgetrf_bufferSize)                                                                            \
  DO(cusolverDnXgetrf)                                                                                       \
  DO(cusolverDnXgeqrf_bufferSize)                                                                            \
  DO(cusolverDnXgeqrf)                                                                                       \
  DO(cusolverDnXsyevd_bufferSize)                                                                            \
  DO(cusolverDnXsyevd)                                                                                       \
  DO(cusolverDnXgesvd_bufferSize)                                                                            \
  DO(cusolverDnXgesvd)                                                                                       \
  DO(cusolverDnSorgqr_bufferSize)                                                                            \
  DO(cusolverDnSorgqr)                                                                                       \
  DO(cusolverDnDorgqr_bufferSize)                                                                            \
  DO(cusolverDnDorgqr)
#define EPL_CUBLAS_FUNCTIONS(DO)                                                                             \
  DO(cublasCreate_v2)                                                                                        \
  DO(cublasDestroy_v2)                                                                                       \
  DO(cublasSetStream_v2)                                                                                     \
  DO(cublasSetWorkspace_v2)                                                                                  \
  DO(cublasStrsm_v2)                                                                                         \
  DO(cublasDtrsm_v2)

#define EPL_DECLARE(name) solver::name *name = nullptr; // NOLINT(bugprone-macro-parentheses)
/// The library of the process: what EPL_CUSOLVER names, else `libcusolver.so.12` as
/// runtime/device/cpu/Library.h finds it.
struct Cusolver {
  /// Opens it the first time; null if there is none. Throws Error if it lacks a function, or if the one that
  /// is named cannot be loaded.
  static const Cusolver *get();

  EPL_CUSOLVER_FUNCTIONS(EPL_DECLARE)
};

/// The same for EPL_CUBLAS and `libcublas.so.13`.
struct Cublas {
  static const Cublas *get();

  EPL_CUBLAS_FUNCTIONS(EPL_DECLARE)
};
#undef EPL_DECLARE

} // namespace epl::runtime::cuda::solver

#endif // EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_CUSOLVER_H
