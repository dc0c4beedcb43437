//===- Cublas.cpp - A stand-in of cuBLAS ----------------------------------===//
//
// libcublas.so.13 for the stand-in of the driver: triangular systems, which LAPACK of the host solves in the
// stream's turn (solver/Work.h). It refuses what the library refuses: sizes that do not fit, no stream, a
// workspace that is missing, too small or not aligned; a word of it is written, so that two calls that have
// one at a time are found.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/factorizations/Cusolver.h"
#include "test/cuda/libraries/solver/Lapack.h"
#include "test/cuda/libraries/solver/Work.h"

#include <algorithm>

using namespace epl::runtime::cuda::solver;
using namespace solver_double;
using BlasStatus = epl::runtime::cuda::blas::Status;

namespace epl::runtime::cuda::solver {

struct BlasT {
  CUstream stream = nullptr;
  void *workspace = nullptr; ///< which its own would be is nobody's to rely on
};

} // namespace epl::runtime::cuda::solver

static constexpr size_t kWorkspace = 256;

template <typename Scalar>
static BlasStatus solve(const char *name, BlasHandle handle, Side side, Triangle triangle,
                        Operation operation, Diagonal diagonal, int m, int n, const void *alpha,
                        const void *a, int lda, void *b, int ldb) {
  int order = side == Side::left ? m : n;
  if (m < 0 || n < 0 || lda < std::max(1, order) || ldb < std::max(1, m) || !alpha || !a || !b)
    return BlasStatus::invalidValue;
  if (!handle->stream || !handle->workspace)
    return BlasStatus::notSupported;
  Touched touched;
  bool isUpper = triangle == Triangle::upper, hasOnes = diagonal == Diagonal::ones;
  touched.read({a, order, order, lda, sizeof(Scalar)}, isUpper
                                                           ? (hasOnes ? Part::aboveDiagonal : Part::upper)
                                                           : (hasOnes ? Part::belowDiagonal : Part::lower));
  touched.readWrite({b, m, n, ldb, sizeof(Scalar)});
  touched.write(handle->workspace, sizeof(int));
  auto factor = *static_cast<const Scalar *>(alpha); // as it is now
  bool isTaken = touched.enqueue(name, handle->stream, [=] {
    epl::runtime::Lapack<Scalar>::get().trsm(side == Side::left ? "L" : "R", isUpper ? "U" : "L",
                                             operation == Operation::none ? "N" : "T", hasOnes ? "U" : "N",
                                             &m, &n, &factor, static_cast<const Scalar *>(a), &lda,
                                             static_cast<Scalar *>(b), &ldb, 1, 1, 1, 1);
  });
  return isTaken ? BlasStatus::success : BlasStatus(13); // execution failed
}

extern "C" {

BlasStatus cublasCreate_v2(BlasHandle *handle) {
  *handle = new BlasT;
  return BlasStatus::success;
}

BlasStatus cublasDestroy_v2(BlasHandle handle) {
  delete handle;
  return BlasStatus::success;
}

BlasStatus cublasSetStream_v2(BlasHandle handle, CUstream stream) {
  *handle = {stream, nullptr};
  return BlasStatus::success;
}

BlasStatus cublasSetWorkspace_v2(BlasHandle handle, void *workspace, size_t bytes) {
  if (bytes < kWorkspace || reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return BlasStatus::invalidValue;
  handle->workspace = workspace;
  return BlasStatus::success;
}

BlasStatus cublasStrsm_v2(BlasHandle handle, Side side, Triangle triangle, Operation operation,
                          Diagonal diagonal, int m, int n, const void *alpha, const void *a, int lda, void *b,
                          int ldb) {
  return solve<float>("cublasStrsm", handle, side, triangle, operation, diagonal, m, n, alpha, a, lda, b,
                      ldb);
}

BlasStatus cublasDtrsm_v2(BlasHandle handle, Side side, Triangle triangle, Operation operation,
                          Diagonal diagonal, int m, int n, const void *alpha, const void *a, int lda, void *b,
                          int ldb) {
  return solve<double>("cublasDtrsm", handle, side, triangle, operation, diagonal, m, n, alpha, a, lda, b,
                       ldb);
}

} // extern "C"
