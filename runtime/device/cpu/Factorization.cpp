// LAPACK's matrices lie in columns, ours in rows: to it, ours are transposed. Where that only names things
// otherwise, nothing is moved: the lower triangle of a symmetric matrix is the upper one of its transpose,
// and the reflectors of a = q r are those of the transpose's l q. Else matrices are transposed on the way
// into the copy that LAPACK overwrites, and on the way out: their elements are few beside what is computed of
// them.
#include "runtime/device/cpu/Factorization.h"

#include "runtime/device/cpu/Lapack.h"
#include "runtime/plan/model/Factorizations.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>

namespace epl::runtime {
namespace {

using Kind = plan::FactorizationKind;

/// Leading dimensions are at least 1, also of matrices without elements.
int leading(int64_t extent) { return int(std::max<int64_t>(extent, 1)); }

/// target (columns x rows) is source (rows x columns) transposed, in squares that stay in the first cache.
template <typename Scalar>
void transpose(const Scalar *source, Scalar *target, int64_t rows, int64_t columns) {
  constexpr int64_t side = 16;
  for (int64_t top = 0; top < rows; top += side)
    for (int64_t left = 0; left < columns; left += side) {
      int64_t bottom = std::min(top + side, rows), right = std::min(left + side, columns);
      for (int64_t column = left; column < right; ++column)
        for (int64_t row = top; row < bottom; ++row)
          target[column * rows + row] = source[row * columns + column];
    }
}

template <typename Scalar> void transposeSquare(Scalar *a, int64_t n) {
  constexpr int64_t side = 16;
  for (int64_t top = 0; top < n; top += side)
    for (int64_t left = 0; left <= top; left += side)
      for (int64_t row = top; row < std::min(top + side, n); ++row)
        for (int64_t column = left; column < std::min(left + side, row); ++column)
          std::swap(a[row * n + column], a[column * n + row]);
}

template <typename Scalar> void fillNan(Scalar *values, int64_t count) {
  std::fill_n(values, count, std::numeric_limits<Scalar>::quiet_NaN());
}

template <typename Scalar> void fillIdentity(Scalar *a, int64_t n) {
  std::fill_n(a, n * n, Scalar(0));
  for (int64_t i = 0; i < n; ++i)
    a[i * n + i] = Scalar(1);
}

/// A difference with itself is 0 where all are finite, and stays NaN where one is not.
template <typename Scalar> bool allFinite(const Scalar *values, int64_t count) {
  Scalar sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += values[i] - values[i];
  return sum == 0;
}

/// One matrix: its operands, then its results, and a workspace.
template <typename Scalar> struct Task {
  const plan::FactorizationT &shape;
  std::array<void *, 4> operands; // no kind has more
  Scalar *work;

  const Scalar *input(size_t i) const { return static_cast<const Scalar *>(operands[i]); }
  Scalar *output(size_t i) const { return static_cast<Scalar *>(operands[i]); }
  int *integers(size_t i) const { return static_cast<int *>(operands[i]); }
  int rows() const { return int(shape.rows); }
  int columns() const { return int(shape.columns); }
  int smaller() const { return std::min(rows(), columns()); }
  int64_t size() const { return shape.rows * shape.columns; }
};

/// The upper triangle of a result is 0; it may be a's.
template <typename Scalar> void factorCholesky(const Task<Scalar> &task) {
  int n = task.rows(), stride = leading(n), info = 0;
  const Scalar *a = task.input(0);
  Scalar *l = task.output(1);
  for (int64_t row = 0; row < n; ++row) {
    std::copy_n(a + row * n, row + 1, l + row * n);
    std::fill_n(l + row * n + row + 1, n - row - 1, Scalar(0));
  }
  Lapack<Scalar>::get().potrf("U", &n, l, &stride, &info, 1);
  if (info != 0)
    fillNan(l, task.size());
}

/// LAPACK counts rows from 1.
template <typename Scalar> void factorLu(const Task<Scalar> &task) {
  int m = task.rows(), n = task.columns(), stride = leading(m), info = 0;
  int *pivots = task.integers(2), *permutation = task.integers(3);
  std::iota(permutation, permutation + m, 0);
  if (task.size() == 0)
    return;
  transpose(task.input(0), task.work, m, n);
  Lapack<Scalar>::get().getrf(&m, &n, task.work, &stride, pivots, &info);
  transpose(task.work, task.output(1), n, m);
  for (int i = 0; i < task.smaller(); ++i)
    std::swap(permutation[i], permutation[--pivots[i]]);
}

/// The matrix that LAPACK sees is a transposed: n x m.
template <typename Scalar> void factorQr(const Task<Scalar> &task) {
  int m = task.rows(), n = task.columns(), stride = leading(n), info = 0;
  int length = int(lapackWorkspaceOf(task.shape).elements);
  std::copy_n(task.input(0), task.size(), task.output(1));
  Lapack<Scalar>::get().gelqf(&n, &m, task.output(1), &stride, task.output(2), task.work, &length, &info);
}

template <typename Scalar> void multiplyReflectors(const Task<Scalar> &task) {
  int m = task.rows(), n = task.columns(), k = int(task.shape.reflectors), stride = leading(n), info = 0;
  int length = int(lapackWorkspaceOf(task.shape).elements);
  std::copy_n(task.input(0), task.size(), task.output(2));
  Lapack<Scalar>::get().orglq(&n, &m, &k, task.output(2), &stride, task.input(1), task.work, &length, &info);
}

template <typename Scalar> void factorEigh(const Task<Scalar> &task) {
  int n = task.rows(), stride = leading(n), info = 0;
  Scalar *v = task.output(1), *w = task.output(2);
  LapackWorkspace own = lapackWorkspaceOf(task.shape);
  int length = int(own.elements), integers = int(own.integers);
  transpose(task.input(0), v, n, n);
  bool finite = true; // of the triangle that is read
  for (int64_t column = 0; column < n; ++column)
    finite &= allFinite(v + column * n + column, n - column);
  if (finite)
    Lapack<Scalar>::get().syevd("V", "L", &n, v, &stride, w, task.work, &length,
                                reinterpret_cast<int *>(task.work + length), &integers, &info, 1, 1);
  transposeSquare(v, n);
  if (!finite || info != 0) {
    fillNan(v, task.size());
    fillNan(w, n);
  }
}

/// The vectors of a matrix without elements are those of the other side: any orthogonal ones.
template <typename Scalar> void fillEmptyVectors(const Task<Scalar> &task) {
  if (!task.shape.full)
    return;
  fillIdentity(task.output(2), task.shape.rows);
  fillIdentity(task.output(3), task.shape.columns);
}

template <typename Scalar> void factorSvd(const Task<Scalar> &task) {
  bool vectors = task.shape.vectors;
  if (task.size() == 0)
    return vectors ? fillEmptyVectors(task) : void();
  int m = task.rows(), n = task.columns(), info = 0;
  int left = vectors ? int(leftVectorsOf(task.shape)) : 0;
  int right = vectors ? int(rightVectorsOf(task.shape)) : 0, rightStride = leading(right);
  Scalar *a = task.work, *u = a + task.size(), *vt = u + int64_t(m) * left, *work = vt + int64_t(right) * n;
  int length = int(lapackWorkspaceOf(task.shape).elements);
  Scalar *s = task.output(1);
  bool finite = allFinite(task.input(0), task.size());
  transpose(task.input(0), a, m, n);
  const char *job = !vectors ? "N" : task.shape.full ? "A" : "S";
  if (finite)
    Lapack<Scalar>::get().gesdd(job, &m, &n, a, &m, s, u, &m, vt, &rightStride, work, &length,
                                reinterpret_cast<int *>(work + length), &info, 1);
  bool found = finite && info == 0;
  if (!found)
    fillNan(s, task.smaller());
  if (!vectors)
    return;
  if (!found)
    fillNan(u, int64_t(m) * left + int64_t(right) * n);
  transpose(u, task.output(2), left, m);
  transpose(vt, task.output(3), n, right);
}

/// To LAPACK op(a) x = b is the transpose, x' op(a)' = b': the other side, the other triangle.
template <typename Scalar> void solveTriangular(const Task<Scalar> &task) {
  const plan::FactorizationT &shape = task.shape;
  int m = task.columns(), n = task.rows();
  int stride = leading(shape.left ? n : m), targetStride = leading(m);
  const Scalar one = 1;
  std::copy_n(task.input(1), task.size(), task.output(2));
  Lapack<Scalar>::get().trsm(shape.left ? "R" : "L", shape.lower ? "U" : "L", shape.transpose ? "T" : "N",
                             shape.unit_diagonal ? "U" : "N", &m, &n, &one, task.input(0), &stride,
                             task.output(2), &targetStride, 1, 1, 1, 1);
}

template <typename Scalar> void factor(const Task<Scalar> &task) {
  switch (task.shape.kind) {
  case Kind::cholesky:
    return factorCholesky(task);
  case Kind::lu:
    return factorLu(task);
  case Kind::qr:
    return factorQr(task);
  case Kind::orthogonal:
    return multiplyReflectors(task);
  case Kind::eigh:
    return factorEigh(task);
  case Kind::svd:
    return factorSvd(task);
  case Kind::triangular_solve:
    return solveTriangular(task);
  }
}

/// `sizes`: bytes of the operands and results of one matrix.
template <typename Scalar>
void factorAll(const plan::FactorizationT &shape, const std::vector<uint64_t> &sizes, bool hasWorkspace,
               void *const *buffers, int64_t begin, int64_t end) {
  Task<Scalar> task{shape, {}, hasWorkspace ? static_cast<Scalar *>(buffers[sizes.size()]) : nullptr};
  for (int64_t index = begin; index < end; ++index) {
    for (size_t i = 0; i < sizes.size(); ++i)
      task.operands[i] = static_cast<std::byte *>(buffers[i]) + uint64_t(index) * sizes[i];
    factor(task);
  }
}

} // namespace

Factorization::Factorization(const plan::FactorizationT &shape) : shape(shape) {
  FactorizationMemory memory = memoryOf(shape);
  sizes = memory.inputs;
  sizes.insert(sizes.end(), memory.outputs.begin(), memory.outputs.end());
  hasWorkspace = memory.workspace > 0;
  if (shape.type == plan::ElementType::f64)
    Lapack<double>::get();
  else
    Lapack<float>::get();
}

void Factorization::run(void *const *buffers, int64_t begin, int64_t end) const {
  if (shape.type == plan::ElementType::f64)
    factorAll<double>(shape, sizes, hasWorkspace, buffers, begin, end);
  else
    factorAll<float>(shape, sizes, hasWorkspace, buffers, begin, end);
}

} // namespace epl::runtime
