//===- Cusolver.cpp - A stand-in of cuSOLVER ------------------------------===//
//
// libcusolver.so.12 for the stand-in of the driver: LAPACK of the host factors matrices in the stream's turn
// (solver/Work.h). It refuses what the library refuses: sizes that do not fit, workspaces that are too small,
// singular values of a matrix with fewer rows than columns. It is harsher where the library may be so:
//
//  - a stream that is captured is a finding, as nothing says that calls may be;
//  - eigenvalues and singular values wait for the stream first;
//  - every other vector has the opposite sign of LAPACK's, a matrix that is factored into others is NaN
//  behind
//    that, and so is the triangle of a Cholesky factor that nobody asked for;
//  - a word of the workspace, on the card and on the host, is written.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/factorizations/Cusolver.h"
#include "test/cuda/libraries/solver/Lapack.h"
#include "test/cuda/libraries/solver/Work.h"

#include <algorithm>
#include <limits>

using namespace epl::runtime::cuda::solver;
using namespace solver_double;
using epl::runtime::Lapack;

namespace epl::runtime::cuda::solver {

struct SolverT {
  CUstream stream = nullptr;
};
struct ParamsT {};

} // namespace epl::runtime::cuda::solver

namespace {

constexpr size_t kDevice = 512, kHost = 64; // what each call wants to work in

Status takeSizes(bool isSound, size_t *device, size_t *host) {
  *device = kDevice;
  *host = kHost;
  return isSound ? Status::success : Status::invalidValue;
}

bool isMatrix(int64_t m, int64_t n, int64_t lda) {
  return m >= 0 && n >= 0 && lda >= std::max<int64_t>(m, 1);
}

/// What all calls are given beside their operands.
struct Given {
  Handle handle;
  DataType type, compute;
  void *device;
  size_t deviceBytes;
  void *host;
  size_t hostBytes;
  int *info;
};

Status check(const Given &given, bool isSound) {
  if (!given.handle)
    return Status::notInitialized;
  bool isType = given.type == DataType::f32 || given.type == DataType::f64;
  if (!isSound || !isType || given.type != given.compute || !given.info)
    return Status::invalidValue;
  if (!given.device || given.deviceBytes < kDevice || !given.host || given.hostBytes < kHost)
    return Status::invalidWorkspace;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  if (cuStreamIsCapturing(given.handle->stream, &capture) != CUDA_SUCCESS)
    return Status::internalError;
  if (capture == CU_STREAM_CAPTURE_STATUS_NONE)
    return Status::success;
  eplCudaReport("cusolver", "a call is captured into a graph");
  return Status::internalError;
}

/// Enqueues `compute`, which gives LAPACK's info.
template <typename Compute>
Status enqueue(Touched &touched, const char *name, const Given &given, Compute compute) {
  touched.write(given.info, sizeof(int));
  touched.write(given.device, sizeof(int));
  bool isTaken = touched.enqueue(name, given.handle->stream, [=] {
    *static_cast<int *>(given.host) = 1;
    *given.info = compute();
  });
  return isTaken ? Status::success : Status::executionFailed;
}

/// Calls `compute` with a null pointer to the type of the elements.
template <typename Compute> Status byType(DataType type, Compute compute) {
  return type == DataType::f64 ? compute(static_cast<double *>(nullptr))
                               : compute(static_cast<float *>(nullptr));
}

/// Calls a routine with the workspace that it asks for.
template <typename Scalar, typename Routine> void withWorkspace(Routine routine) {
  Scalar best = 0;
  int length = -1;
  routine(&best, &length);
  length = int(best);
  std::vector<Scalar> work(static_cast<size_t>(std::max(length, 1)));
  routine(work.data(), &length);
}

template <typename Scalar> void fillNan(Scalar *a, int64_t lda, int64_t m, int64_t n, Part part = Part::all) {
  for (int64_t column = 0; column < n; ++column)
    for (int64_t row = 0; row < m; ++row)
      if (part == Part::all || (part == Part::belowDiagonal ? row > column : row < column))
        a[column * lda + row] = std::numeric_limits<Scalar>::quiet_NaN();
}

/// Every other column, or row.
template <typename Scalar> void changeSigns(Scalar *a, int64_t lda, int64_t m, int64_t n, bool areColumns) {
  for (int64_t column = 0; column < n; ++column)
    for (int64_t row = 0; row < m; ++row)
      if ((areColumns ? column : row) % 2 == 0)
        a[column * lda + row] = -a[column * lda + row];
}

template <typename Scalar>
int findEigenvalues(EigenMode mode, Triangle triangle, int n, Scalar *a, int lda, Scalar *w) {
  int info = 0, integers = 3 + 5 * n;
  const char *job = mode == EigenMode::vectors ? "V" : "N", *part = triangle == Triangle::upper ? "U" : "L";
  std::vector<int> own(static_cast<size_t>(integers));
  withWorkspace<Scalar>([&](Scalar *work, int *length) {
    int asked = *length < 0 ? -1 : integers;
    Lapack<Scalar>::get().syevd(job, part, &n, a, &lda, w, work, length, own.data(), &asked, &info, 1, 1);
  });
  changeSigns(a, lda, n, n, true);
  return info;
}

template <typename Scalar>
int findSingularValues(signed char jobU, signed char jobVt, int m, int n, Scalar *a, int lda, Scalar *s,
                       Scalar *u, int ldu, Scalar *vt, int ldvt) {
  int info = 0;
  const char u0 = char(jobU), vt0 = char(jobVt);
  withWorkspace<Scalar>([&](Scalar *work, int *length) {
    MoreLapack<Scalar>::get().gesvd(&u0, &vt0, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length, &info, 1,
                                    1);
  });
  fillNan(a, lda, m, n);
  if (jobU != 'N')
    changeSigns(u, ldu, m, jobU == 'A' ? m : n, true);
  if (jobVt != 'N')
    changeSigns(vt, ldvt, n, n, false);
  return info;
}

/// `length`: elements of the workspace.
template <typename Scalar>
Status multiplyReflectors(const char *name, Handle handle, int m, int n, int k, void *a, int lda,
                          const void *tau, void *work, int length, int *info) {
  char host[kHost];
  DataType type = sizeof(Scalar) == 8 ? DataType::f64 : DataType::f32;
  Given given{handle, type, type, work, size_t(length) * sizeof(Scalar), host, kHost, info};
  bool isSound = isMatrix(m, n, lda) && n <= m && k >= 0 && k <= n;
  if (Status status = check(given, isSound); status != Status::success)
    return status;
  Touched touched;
  touched.read({a, m, k, lda, sizeof(Scalar)});
  touched.read(tau, size_t(k) * sizeof(Scalar));
  touched.write({a, m, n, lda, sizeof(Scalar)});
  touched.write(info, sizeof(int));
  touched.write(work, sizeof(int));
  bool isTaken = touched.enqueue(name, handle->stream, [=] {
    withWorkspace<Scalar>([&](Scalar *own, int *size) {
      MoreLapack<Scalar>::get().orgqr(&m, &n, &k, static_cast<Scalar *>(a), &lda,
                                      static_cast<const Scalar *>(tau), own, size, info);
    });
  });
  return isTaken ? Status::success : Status::executionFailed;
}

Status takeLength(int m, int n, int k, int lda, size_t element, int *length) {
  *length = int(kDevice / element);
  return isMatrix(m, n, lda) && n <= m && k >= 0 && k <= n ? Status::success : Status::invalidValue;
}

} // namespace

extern "C" {

Status cusolverDnCreate(Handle *handle) {
  *handle = new SolverT;
  return Status::success;
}
Status cusolverDnDestroy(Handle handle) {
  delete handle;
  return Status::success;
}
Status cusolverDnSetStream(Handle handle, CUstream stream) {
  handle->stream = stream;
  return Status::success;
}
Status cusolverDnCreateParams(Params *params) {
  *params = new ParamsT;
  return Status::success;
}
Status cusolverDnDestroyParams(Params params) {
  delete params;
  return Status::success;
}

Status cusolverDnXpotrf_bufferSize(Handle, Params, Triangle, int64_t n, DataType, const void *, int64_t lda,
                                   DataType, size_t *device, size_t *host) {
  return takeSizes(isMatrix(n, n, lda), device, host);
}

Status cusolverDnXpotrf(Handle handle, Params, Triangle triangle, int64_t n, DataType type, void *a,
                        int64_t lda, DataType compute, void *device, size_t deviceBytes, void *host,
                        size_t hostBytes, int *info) {
  Given given{handle, type, compute, device, deviceBytes, host, hostBytes, info};
  if (Status status = check(given, isMatrix(n, n, lda)); status != Status::success)
    return status;
  return byType(type, [&]<typename Scalar>(Scalar *) {
    Touched touched;
    Matrix matrix{a, n, n, lda, sizeof(Scalar)};
    touched.read(matrix, triangle == Triangle::upper ? Part::upper : Part::lower);
    touched.write(matrix);
    return enqueue(touched, "cusolverDnXpotrf", given, [=] {
      int rows = int(n), leading = int(lda), failed = 0;
      bool isUpper = triangle == Triangle::upper;
      Lapack<Scalar>::get().potrf(isUpper ? "U" : "L", &rows, static_cast<Scalar *>(a), &leading, &failed, 1);
      fillNan(static_cast<Scalar *>(a), lda, n, n, isUpper ? Part::belowDiagonal : Part::aboveDiagonal);
      return failed;
    });
  });
}

Status cusolverDnXgetrf_bufferSize(Handle, Params, int64_t m, int64_t n, DataType, const void *, int64_t lda,
                                   DataType, size_t *device, size_t *host) {
  return takeSizes(isMatrix(m, n, lda), device, host);
}

Status cusolverDnXgetrf(Handle handle, Params, int64_t m, int64_t n, DataType type, void *a, int64_t lda,
                        int64_t *pivots, DataType compute, void *device, size_t deviceBytes, void *host,
                        size_t hostBytes, int *info) {
  Given given{handle, type, compute, device, deviceBytes, host, hostBytes, info};
  if (Status status = check(given, isMatrix(m, n, lda)); status != Status::success)
    return status;
  return byType(type, [&]<typename Scalar>(Scalar *) {
    Touched touched;
    touched.readWrite({a, m, n, lda, sizeof(Scalar)});
    touched.write(pivots, size_t(std::min(m, n)) * sizeof(int64_t));
    return enqueue(touched, "cusolverDnXgetrf", given, [=] {
      int rows = int(m), columns = int(n), leading = int(lda), failed = 0;
      std::vector<int> found(size_t(std::min(m, n)));
      Lapack<Scalar>::get().getrf(&rows, &columns, static_cast<Scalar *>(a), &leading, found.data(), &failed);
      std::copy(found.begin(), found.end(), pivots);
      return failed;
    });
  });
}

Status cusolverDnXgeqrf_bufferSize(Handle, Params, int64_t m, int64_t n, DataType, const void *, int64_t lda,
                                   DataType, const void *, DataType, size_t *device, size_t *host) {
  return takeSizes(isMatrix(m, n, lda), device, host);
}

Status cusolverDnXgeqrf(Handle handle, Params, int64_t m, int64_t n, DataType type, void *a, int64_t lda,
                        DataType tauType, void *tau, DataType compute, void *device, size_t deviceBytes,
                        void *host, size_t hostBytes, int *info) {
  Given given{handle, type, compute, device, deviceBytes, host, hostBytes, info};
  if (Status status = check(given, isMatrix(m, n, lda) && tauType == type); status != Status::success)
    return status;
  return byType(type, [&]<typename Scalar>(Scalar *) {
    Touched touched;
    touched.readWrite({a, m, n, lda, sizeof(Scalar)});
    touched.write(tau, size_t(std::min(m, n)) * sizeof(Scalar));
    return enqueue(touched, "cusolverDnXgeqrf", given, [=] {
      int rows = int(m), columns = int(n), leading = int(lda), failed = 0;
      withWorkspace<Scalar>([&](Scalar *work, int *length) {
        MoreLapack<Scalar>::get().geqrf(&rows, &columns, static_cast<Scalar *>(a), &leading,
                                        static_cast<Scalar *>(tau), work, length, &failed);
      });
      return failed;
    });
  });
}

Status cusolverDnXsyevd_bufferSize(Handle, Params, EigenMode, Triangle, int64_t n, DataType, const void *,
                                   int64_t lda, DataType, const void *, DataType, size_t *device,
                                   size_t *host) {
  return takeSizes(isMatrix(n, n, lda), device, host);
}

Status cusolverDnXsyevd(Handle handle, Params, EigenMode mode, Triangle triangle, int64_t n, DataType type,
                        void *a, int64_t lda, DataType valueType, void *w, DataType compute, void *device,
                        size_t deviceBytes, void *host, size_t hostBytes, int *info) {
  Given given{handle, type, compute, device, deviceBytes, host, hostBytes, info};
  if (Status status = check(given, isMatrix(n, n, lda) && valueType == type); status != Status::success)
    return status;
  if (cuStreamSynchronize(handle->stream) != CUDA_SUCCESS)
    return Status::executionFailed;
  return byType(type, [&]<typename Scalar>(Scalar *) {
    Touched touched;
    Matrix matrix{a, n, n, lda, sizeof(Scalar)};
    touched.read(matrix, triangle == Triangle::upper ? Part::upper : Part::lower);
    touched.write(matrix);
    touched.write(w, size_t(n) * sizeof(Scalar));
    return enqueue(touched, "cusolverDnXsyevd", given, [=] {
      return findEigenvalues(mode, triangle, int(n), static_cast<Scalar *>(a), int(lda),
                             static_cast<Scalar *>(w));
    });
  });
}

Status cusolverDnXgesvd_bufferSize(Handle, Params, signed char, signed char, int64_t m, int64_t n, DataType,
                                   const void *, int64_t lda, DataType, const void *, DataType, const void *,
                                   int64_t, DataType, const void *, int64_t, DataType, size_t *device,
                                   size_t *host) {
  return takeSizes(isMatrix(m, n, lda) && m >= n, device, host);
}

Status cusolverDnXgesvd(Handle handle, Params, signed char jobU, signed char jobVt, int64_t m, int64_t n,
                        DataType type, void *a, int64_t lda, DataType valueType, void *s, DataType typeU,
                        void *u, int64_t ldu, DataType typeVt, void *vt, int64_t ldvt, DataType compute,
                        void *device, size_t deviceBytes, void *host, size_t hostBytes, int *info) {
  Given given{handle, type, compute, device, deviceBytes, host, hostBytes, info};
  bool hasU = jobU != 'N', hasVt = jobVt != 'N';
  bool isSound = isMatrix(m, n, lda) && m >= n && valueType == type && typeU == type && typeVt == type &&
                 ldu >= (hasU ? m : 1) && ldvt >= (hasVt ? n : 1) && (!hasU || u) && (!hasVt || vt);
  if (Status status = check(given, isSound); status != Status::success)
    return status;
  if (cuStreamSynchronize(handle->stream) != CUDA_SUCCESS)
    return Status::executionFailed;
  return byType(type, [&]<typename Scalar>(Scalar *) {
    Touched touched;
    touched.readWrite({a, m, n, lda, sizeof(Scalar)});
    touched.write(s, size_t(n) * sizeof(Scalar));
    touched.write({u, hasU ? m : 0, jobU == 'A' ? m : hasU ? n : 0, ldu, sizeof(Scalar)});
    touched.write({vt, hasVt ? n : 0, hasVt ? n : 0, ldvt, sizeof(Scalar)});
    return enqueue(touched, "cusolverDnXgesvd", given, [=] {
      return findSingularValues(jobU, jobVt, int(m), int(n), static_cast<Scalar *>(a), int(lda),
                                static_cast<Scalar *>(s), static_cast<Scalar *>(u), int(ldu),
                                static_cast<Scalar *>(vt), int(ldvt));
    });
  });
}

Status cusolverDnSorgqr_bufferSize(Handle, int m, int n, int k, const void *, int lda, const void *,
                                   int *length) {
  return takeLength(m, n, k, lda, sizeof(float), length);
}
Status cusolverDnDorgqr_bufferSize(Handle, int m, int n, int k, const void *, int lda, const void *,
                                   int *length) {
  return takeLength(m, n, k, lda, sizeof(double), length);
}
Status cusolverDnSorgqr(Handle handle, int m, int n, int k, void *a, int lda, const void *tau, void *work,
                        int length, int *info) {
  return multiplyReflectors<float>("cusolverDnSorgqr", handle, m, n, k, a, lda, tau, work, length, info);
}
Status cusolverDnDorgqr(Handle handle, int m, int n, int k, void *a, int lda, const void *tau, void *work,
                        int length, int *info) {
  return multiplyReflectors<double>("cusolverDnDorgqr", handle, m, n, k, a, lda, tau, work, length, info);
}

} // extern "C"
