#include "runtime/plan/model/Factorizations.h"

#include "runtime/plan/model/Mesh.h"

#include <algorithm>
#include <limits>

namespace epl::runtime {
namespace {

using Kind = plan::FactorizationKind;

/// Of a matrix: the squares of what passes fit 64 bits many times.
constexpr int64_t maxExtent = int64_t(1) << 24;
/// LAPACK's blocks are of 32 or 64 columns; what they are multiplied with takes a triangle beside.
constexpr int64_t block = 64, blockTriangle = 65 * 64;
constexpr uint64_t integerBytes = 4;

bool isSquare(Kind kind) { return kind == Kind::cholesky || kind == Kind::eigh; }

int64_t smaller(const plan::FactorizationT &f) { return std::min(f.rows, f.columns); }

/// A triangular_solve's triangle.
int64_t triangleOf(const plan::FactorizationT &f) { return f.left ? f.rows : f.columns; }

/// syevd's formulas, and room for sytrd's and ormtr's blocks.
LapackWorkspace workspaceOfEigh(int64_t n) {
  return {1 + 6 * n + 2 * n * n + n * block + blockTriangle, 3 + 5 * n};
}

/// The most of gesdd's paths: bidiagonal divide and conquer with its matrices, a triangle of a tall or wide
/// matrix's own factorization, and room for blocks.
LapackWorkspace workspaceOfSvd(const plan::FactorizationT &f) {
  int64_t k = smaller(f), larger = std::max(f.rows, f.columns);
  int64_t squares = f.vectors ? 5 * k * k : 0;
  return {squares + 10 * k + larger + (f.rows + f.columns) * block + blockTriangle, 8 * k};
}

/// Elements of matrices that a factorization works on before LAPACK's own workspace: copies in columns.
int64_t copiesOf(const plan::FactorizationT &f) {
  int64_t matrix = f.rows * f.columns;
  if (f.kind == Kind::lu)
    return matrix;
  if (f.kind == Kind::svd)
    return matrix + (f.vectors ? f.rows * leftVectorsOf(f) + rightVectorsOf(f) * f.columns : 0);
  return 0;
}

} // namespace

int64_t leftVectorsOf(const plan::FactorizationT &f) { return f.full ? f.rows : smaller(f); }

int64_t rightVectorsOf(const plan::FactorizationT &f) { return f.full ? f.columns : smaller(f); }

LapackWorkspace lapackWorkspaceOf(const plan::FactorizationT &f) {
  switch (f.kind) {
  case Kind::qr:
  case Kind::orthogonal:
    return {f.columns * block + blockTriangle, 0};
  case Kind::eigh:
    return workspaceOfEigh(f.rows);
  case Kind::svd:
    return workspaceOfSvd(f);
  case Kind::cholesky:
  case Kind::lu:
  case Kind::triangular_solve:
    break;
  }
  return {0, 0};
}

std::string faultOf(const plan::FactorizationT &f) {
  if (f.kind < Kind::MIN || f.kind > Kind::MAX)
    return " factors by kind " + std::to_string(int(f.kind)) + ", which does not exist";
  if (f.type != plan::ElementType::f32 && f.type != plan::ElementType::f64)
    return " factors elements of type " + std::to_string(int(f.type)) + ", expected f32 or f64";
  if (f.rows < 0 || f.columns < 0 || f.rows > maxExtent || f.columns > maxExtent)
    return " factors " + std::to_string(f.rows) + " x " + std::to_string(f.columns) +
           ", expected extents from 0 to " + std::to_string(maxExtent);
  if (isSquare(f.kind) && f.rows != f.columns)
    return " factors " + std::to_string(f.rows) + " x " + std::to_string(f.columns) + ", expected a square";
  if (f.kind == Kind::orthogonal && (f.columns > f.rows || f.reflectors < 0 || f.reflectors > f.columns))
    return " multiplies " + std::to_string(f.reflectors) + " reflectors of " + std::to_string(f.rows) +
           " x " + std::to_string(f.columns) + ", expected at most as many as columns, and as columns rows";
  LapackWorkspace workspace = lapackWorkspaceOf(f);
  if (std::max(workspace.elements, workspace.integers) > std::numeric_limits<int32_t>::max())
    return " factors " + std::to_string(f.rows) + " x " + std::to_string(f.columns) +
           ", whose workspace of " + std::to_string(workspace.elements) +
           " elements is more than LAPACK's 32-bit indices reach";
  return "";
}

FactorizationMemory memoryOf(const plan::FactorizationT &f) {
  uint64_t element = elementBytes(f.type);
  auto elements = [&](int64_t count) { return uint64_t(count) * element; };
  auto integers = [&](int64_t count) { return uint64_t(count) * integerBytes; };
  LapackWorkspace own = lapackWorkspaceOf(f);
  FactorizationMemory memory;
  memory.workspace = elements(copiesOf(f) + own.elements) + integers(own.integers);
  uint64_t matrix = elements(f.rows * f.columns);
  memory.inputs = {matrix};
  memory.outputs = {matrix};
  switch (f.kind) {
  case Kind::cholesky:
    break;
  case Kind::lu:
    memory.outputs = {matrix, integers(smaller(f)), integers(f.rows)};
    break;
  case Kind::qr:
    memory.outputs = {matrix, elements(smaller(f))};
    break;
  case Kind::orthogonal:
    memory.inputs = {matrix, elements(f.reflectors)};
    break;
  case Kind::eigh:
    memory.outputs = {matrix, elements(f.rows)};
    break;
  case Kind::svd:
    memory.outputs = {elements(smaller(f))};
    if (f.vectors) {
      memory.outputs.push_back(elements(f.rows * leftVectorsOf(f)));
      memory.outputs.push_back(elements(rightVectorsOf(f) * f.columns));
    }
    break;
  case Kind::triangular_solve:
    memory.inputs = {elements(triangleOf(f) * triangleOf(f)), matrix};
    break;
  }
  return memory;
}

} // namespace epl::runtime
