// The libraries' matrices lie in columns, ours in rows: to them, ours are transposed, as they are to LAPACK
// (runtime/device/cpu/Factorization.cpp). Where that only names the other triangle or the other side nothing
// is moved. cuSOLVER has no LQ factorization, so a QR is of a copy in columns. Of singular values it wants at
// least as many rows as columns: of a wide matrix it finds those of the transpose, which is what lies there,
// and whose vectors lie as those of the matrix are wanted; a tall one is copied in columns.
#include "runtime/device/cuda/factorizations/FactorizationCall.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/KernelCall.h"
#include "runtime/device/cuda/kernels/Arguments.h"
#include "runtime/plan/model/Factorizations.h"
#include "runtime/plan/model/Mesh.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace epl::runtime::cuda {

using Kind = plan::FactorizationKind;

static bool isDouble(const plan::FactorizationT &shape) { return shape.type == plan::ElementType::f64; }

/// An svd's matrix as the library sees it: rows, not fewer than columns.
static int64_t longer(const plan::FactorizationT &svd) { return std::max(svd.rows, svd.columns); }
static int64_t shorter(const plan::FactorizationT &shape) { return std::min(shape.rows, shape.columns); }

/// Of a triangular system: the triangle's rows.
static int64_t order(const plan::FactorizationT &shape) { return shape.left ? shape.rows : shape.columns; }

//===----------------------------------------------------------------------===//
// What it works in
//===----------------------------------------------------------------------===//

void FactorizationCall::takeLayout() {
  constexpr size_t kAlignment = 256;
  auto each = [&](int64_t number, size_t bytes) { return size_t(count) * size_t(number) * bytes; };
  auto take = [&](size_t &offset, size_t bytes) {
    offset = layout.total;
    layout.total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  size_t element = elementBytes(shape->type);
  bool isSvd = shape->kind == Kind::svd, isTriangular = shape->kind == Kind::triangular_solve;
  bool hasVectorsInColumns = isSvd && shape->vectors && isTall(*shape);
  bool hasCopies = !isTriangular && shape->kind != Kind::cholesky;
  take(layout.own, asked->device);
  take(layout.copies, hasCopies ? each(shape->rows * shape->columns, element) : 0);
  take(layout.left, hasVectorsInColumns ? each(shape->rows * leftVectorsOf(*shape), element) : 0);
  take(layout.right, hasVectorsInColumns ? each(rightVectorsOf(*shape) * shape->columns, element) : 0);
  take(layout.pivots, shape->kind == Kind::lu ? each(shorter(*shape), sizeof(int64_t)) : 0);
  take(layout.infos, isTriangular ? 0 : each(1, sizeof(int)));
  take(layout.odd, isSvd || shape->kind == Kind::eigh ? each(1, sizeof(int)) : 0);
}

std::optional<FactorizationCall> FactorizationCall::make(std::shared_ptr<const FactorizationLibrary> library,
                                                         const Driver &api, const plan::KernelT &kernel,
                                                         std::vector<CUdeviceptr> operands,
                                                         const FactorizationKernels &kernels) {
  const plan::FactorizationT &shape = *kernel.factorization;
  bool isEmpty = kernel.extent == 0 || shape.rows == 0 || shape.columns == 0 ||
                 (shape.kind == Kind::orthogonal && shape.reflectors == 0);
  bool areSmall = std::max(shape.rows, shape.columns) <= kSmallExtent;
  if (isEmpty || (areSmall && kernel.extent > kMostSmall))
    return std::nullopt;
  FactorizationCall call;
  call.asked = library->find(
      shape, alignmentOf(std::reduce(operands.begin(), operands.end(), CUdeviceptr(0), std::bit_or<>())));
  if (!call.asked)
    return std::nullopt;
  call.library = std::move(library);
  call.api = &api;
  call.shape = &shape;
  call.count = kernel.extent;
  call.operands = std::move(operands);
  call.kernels = kernels;
  call.host = std::make_shared<std::vector<std::byte>>(call.asked->host);
  call.takeLayout();
  return call;
}

bool FactorizationCall::isCapturable() const { return shape->kind == Kind::triangular_solve; }

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// One time that all of it is enqueued.
class FactorizationCall::Enqueuing {
public:
  Enqueuing(const FactorizationCall &call, CUdeviceptr workspace, CUstream stream)
      : call(call), shape(*call.shape), api(call.library->solver), handles(call.library->on(stream)),
        workspace(workspace), stream(stream) {}

  void enqueue() const;

private:
  void factorCholesky() const;
  void factorLu() const;
  void factorQr() const;
  void multiplyReflectors() const;
  void factorEigh() const;
  void factorSvd() const;
  void finishVectors() const;
  void solveTriangular() const;

  /// What is done with matrices on their way.
  struct How {
    bool transposes = false, isLower = false, marksOdd = false, asksInfo = false, asksOdd = false;
  };
  void move(CUdeviceptr from, CUdeviceptr to, int64_t rows, int64_t columns, How how) const;
  void clearOdd() const;
  template <typename Arguments>
  void launch(CUfunction function, const Arguments &arguments, int64_t threads) const;
  void check(CUresult result) const { call.api->check(result, "it cannot be enqueued"); }
  template <typename Status> static void check(const char *name, Status status) {
    if (status != Status::success)
      throw Error(std::string(name) + " fails with status " + std::to_string(int(status)));
  }

  CUdeviceptr operand(size_t number) const { return call.operands[number]; }
  CUdeviceptr copies() const { return workspace + call.layout.copies; }
  static void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }
  /// What a matrix has of memory that has so many elements of each; null if there is no memory.
  void *part(CUdeviceptr memory, int64_t matrix, int64_t elements) const {
    return memory ? pointer(memory + uint64_t(matrix * elements) * elementBytes(shape.type)) : nullptr;
  }
  int *info(int64_t matrix) const {
    return static_cast<int *>(pointer(workspace + call.layout.infos)) + matrix;
  }
  int64_t size() const { return shape.rows * shape.columns; }
  void *own() const { return pointer(workspace + call.layout.own); }
  void *hosts() const { return call.host->data(); }

  const FactorizationCall &call;
  const plan::FactorizationT &shape;
  const solver::Cusolver *api; // null if there is none, of triangular systems
  const FactorizationLibrary::Handles &handles;
  CUdeviceptr workspace;
  CUstream stream;
};

template <typename Arguments>
void FactorizationCall::Enqueuing::launch(CUfunction function, const Arguments &arguments,
                                          int64_t threads) const {
  KernelCall kernel(function, gridFor(uint64_t(threads)));
  kernel.add(arguments);
  check(kernel.enqueue(*call.api, stream));
}

/// The matrices of the batch, of `rows` rows where they come from.
void FactorizationCall::Enqueuing::move(CUdeviceptr from, CUdeviceptr to, int64_t rows, int64_t columns,
                                        How how) const {
  CUdeviceptr odd = workspace + call.layout.odd, infos = workspace + call.layout.infos;
  MatrixArguments arguments{from,
                            to,
                            rows,
                            columns,
                            call.count,
                            how.transposes,
                            how.isLower,
                            how.marksOdd ? odd : 0,
                            {how.asksInfo ? infos : 0, how.asksOdd ? odd : 0}};
  launch(call.kernels.matrices, arguments, call.count * rows * columns);
}

void FactorizationCall::Enqueuing::clearOdd() const {
  check(call.api->cuMemsetD8Async(workspace + call.layout.odd, 0, size_t(call.count) * sizeof(int), stream));
}

/// The library reads and writes the lower triangle of what lies in rows.
void FactorizationCall::Enqueuing::factorCholesky() const {
  int64_t n = shape.rows;
  solver::DataType type = dataTypeOf(shape);
  move(operand(0), operand(1), n, n, {.isLower = true});
  for (int64_t i = 0; i < call.count; ++i)
    check("cusolverDnXpotrf", api->cusolverDnXpotrf(handles.solver, handles.params, solver::Triangle::upper,
                                                    n, type, part(operand(1), i, size()), n, type, own(),
                                                    call.asked->device, hosts(), call.asked->host, info(i)));
  // The library may use the other triangle as it likes.
  move(operand(1), operand(1), n, n, {.isLower = true, .asksInfo = true});
}

/// A matrix that is singular has factors as others do.
void FactorizationCall::Enqueuing::factorLu() const {
  int64_t m = shape.rows, n = shape.columns, k = shorter(shape);
  solver::DataType type = dataTypeOf(shape);
  CUdeviceptr pivots = workspace + call.layout.pivots;
  move(operand(0), copies(), m, n, {.transposes = true});
  for (int64_t i = 0; i < call.count; ++i)
    check("cusolverDnXgetrf",
          api->cusolverDnXgetrf(handles.solver, handles.params, m, n, type, part(copies(), i, size()), m,
                                static_cast<int64_t *>(pointer(pivots)) + i * k, type, own(),
                                call.asked->device, hosts(), call.asked->host, info(i)));
  move(copies(), operand(1), n, m, {.transposes = true});
  launch(call.kernels.pivots, PivotArguments{pivots, operand(2), operand(3), m, k, call.count}, call.count);
}

void FactorizationCall::Enqueuing::factorQr() const {
  int64_t m = shape.rows, n = shape.columns;
  solver::DataType type = dataTypeOf(shape);
  move(operand(0), copies(), m, n, {.transposes = true});
  for (int64_t i = 0; i < call.count; ++i)
    check("cusolverDnXgeqrf",
          api->cusolverDnXgeqrf(handles.solver, handles.params, m, n, type, part(copies(), i, size()), m,
                                type, part(operand(2), i, shorter(shape)), type, own(), call.asked->device,
                                hosts(), call.asked->host, info(i)));
  move(copies(), operand(1), n, m, {.transposes = true});
}

void FactorizationCall::Enqueuing::multiplyReflectors() const {
  int64_t m = shape.rows, n = shape.columns, k = shape.reflectors;
  auto multiply = isDouble(shape) ? api->cusolverDnDorgqr : api->cusolverDnSorgqr;
  auto length = int(call.asked->device / elementBytes(shape.type));
  move(operand(0), copies(), m, n, {.transposes = true});
  for (int64_t i = 0; i < call.count; ++i)
    check("cusolverDnorgqr", multiply(handles.solver, int(m), int(n), int(k), part(copies(), i, size()),
                                      int(m), part(operand(1), i, k), own(), length, info(i)));
  move(copies(), operand(2), n, m, {.transposes = true});
}

/// Elements that are not finite would have the library fail as a whole, or look for eigenvalues for long.
void FactorizationCall::Enqueuing::factorEigh() const {
  int64_t n = shape.rows;
  solver::DataType type = dataTypeOf(shape);
  clearOdd();
  move(operand(0), copies(), n, n, {.isLower = true, .marksOdd = true});
  for (int64_t i = 0; i < call.count; ++i)
    check("cusolverDnXsyevd",
          api->cusolverDnXsyevd(handles.solver, handles.params, solver::EigenMode::vectors,
                                solver::Triangle::upper, n, type, part(copies(), i, size()), n, type,
                                part(operand(2), i, n), type, own(), call.asked->device, hosts(),
                                call.asked->host, info(i)));
  move(copies(), operand(1), n, n, {.transposes = true, .asksInfo = true, .asksOdd = true});
  move(operand(2), operand(2), 1, n, {.asksInfo = true, .asksOdd = true});
}

void FactorizationCall::Enqueuing::factorSvd() const {
  int64_t m = longer(shape), n = shorter(shape);
  int64_t left = leftVectorsOf(shape), right = rightVectorsOf(shape);
  bool tall = isTall(shape);
  solver::DataType type = dataTypeOf(shape);
  // Of a wide matrix the library's left vectors are our right ones.
  CUdeviceptr u = 0, vt = 0;
  if (shape.vectors) {
    u = tall ? workspace + call.layout.left : operand(3);
    vt = tall ? workspace + call.layout.right : operand(2);
  }
  int64_t numU = tall ? left : right, numVt = tall ? right : left;
  clearOdd();
  move(operand(0), copies(), shape.rows, shape.columns, {.transposes = tall, .marksOdd = true});
  for (int64_t i = 0; i < call.count; ++i)
    check("cusolverDnXgesvd",
          api->cusolverDnXgesvd(handles.solver, handles.params, jobOf(shape), jobOf(shape), m, n, type,
                                part(copies(), i, size()), m, type, part(operand(1), i, n), type,
                                part(u, i, m * numU), m, type, part(vt, i, numVt * n), numVt, type, own(),
                                call.asked->device, hosts(), call.asked->host, info(i)));
  move(operand(1), operand(1), 1, n, {.asksInfo = true, .asksOdd = true});
  if (shape.vectors)
    finishVectors();
}

/// In rows, and NaN where there are none.
void FactorizationCall::Enqueuing::finishVectors() const {
  int64_t left = leftVectorsOf(shape), right = rightVectorsOf(shape);
  if (isTall(shape)) {
    How how{.transposes = true, .asksInfo = true, .asksOdd = true};
    move(workspace + call.layout.left, operand(2), left, shape.rows, how);
    return move(workspace + call.layout.right, operand(3), shape.columns, right, how);
  }
  How how{.asksInfo = true, .asksOdd = true};
  move(operand(2), operand(2), shape.rows, left, how);
  move(operand(3), operand(3), right, shape.columns, how);
}

/// To the library op(a) x = b is the transpose, x' op(a)' = b': the other side, the other triangle.
void FactorizationCall::Enqueuing::solveTriangular() const {
  const solver::Cublas &blas = *call.library->blas;
  int64_t m = shape.columns, n = shape.rows, k = order(shape);
  const float one = 1;
  const double oneDouble = 1;
  const void *factor = isDouble(shape) ? static_cast<const void *>(&oneDouble) : &one;
  auto solve = isDouble(shape) ? blas.cublasDtrsm_v2 : blas.cublasStrsm_v2;
  if (operand(1) != operand(2))
    move(operand(1), operand(2), shape.rows, shape.columns, {});
  check("cublasSetWorkspace", blas.cublasSetWorkspace_v2(handles.blas, own(), call.asked->device));
  for (int64_t i = 0; i < call.count; ++i)
    check("cublastrsm",
          solve(handles.blas, shape.left ? solver::Side::right : solver::Side::left,
                shape.lower ? solver::Triangle::upper : solver::Triangle::lower,
                shape.transpose ? solver::Operation::transpose : solver::Operation::none,
                shape.unit_diagonal ? solver::Diagonal::ones : solver::Diagonal::given, int(m), int(n),
                factor, part(operand(0), i, k * k), int(k), part(operand(2), i, size()), int(m)));
}

void FactorizationCall::Enqueuing::enqueue() const {
  switch (shape.kind) {
  case Kind::cholesky:
    return factorCholesky();
  case Kind::lu:
    return factorLu();
  case Kind::qr:
    return factorQr();
  case Kind::orthogonal:
    return multiplyReflectors();
  case Kind::eigh:
    return factorEigh();
  case Kind::svd:
    return factorSvd();
  case Kind::triangular_solve:
    return solveTriangular();
  }
}

void FactorizationCall::enqueue(CUdeviceptr workspace, CUstream stream) const {
  Enqueuing(*this, workspace, stream).enqueue();
}

} // namespace epl::runtime::cuda
