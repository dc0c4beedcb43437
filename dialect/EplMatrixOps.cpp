//===- EplMatrixOps.cpp - Ops on whole matrices ---------------------------===//

#include "dialect/Matrices.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::epl;

using Shape = SmallVector<int64_t>;

static ArrayRef<int64_t> getShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Of the last two dimensions.
static int64_t getRows(Value matrix) { return getShape(matrix).drop_back().back(); }
static int64_t getColumns(Value matrix) { return getShape(matrix).back(); }

bool mlir::epl::isMatrixOp(Operation *op) { return isa<FactorizeOp, TriangularSolveOp>(op); }

int64_t mlir::epl::getNumBatchDims(Operation *op) { return getShape(op->getOperand(0)).size() - 2; }

//===----------------------------------------------------------------------===//
// FactorizeOp
//===----------------------------------------------------------------------===//

int64_t FactorizeOp::getRows() { return ::getRows(getOperands()[0]); }
int64_t FactorizeOp::getColumns() { return ::getColumns(getOperands()[0]); }

bool FactorizeOp::hasVectors() { return getKind() == FactorizationKind::svd && getNumResults() == 3; }

bool FactorizeOp::isFull() {
  return hasVectors() && ::getColumns(getResult(1)) == getRows() && ::getRows(getResult(2)) == getColumns();
}

/// The shapes of the results for one matrix.
static SmallVector<Shape> getResultShapes(FactorizeOp op) {
  int64_t m = op.getRows(), n = op.getColumns(), k = std::min(m, n);
  switch (op.getKind()) {
  case FactorizationKind::cholesky:
  case FactorizationKind::orthogonal:
    return {{m, n}};
  case FactorizationKind::lu:
    return {{m, n}, {k}, {m}};
  case FactorizationKind::qr:
    return {{m, n}, {k}};
  case FactorizationKind::eigh:
    return {{n, n}, {n}};
  case FactorizationKind::svd:
    if (!op.hasVectors())
      return {{k}};
    return op.isFull() ? SmallVector<Shape>{{k}, {m, m}, {n, n}} : SmallVector<Shape>{{k}, {m, k}, {k, n}};
  }
  llvm_unreachable("a kind that does not exist");
}

/// What is with the operands: how many, of which types.
static LogicalResult verifyOperands(FactorizeOp op) {
  size_t expected = op.getKind() == FactorizationKind::orthogonal ? 2 : 1;
  if (op.getOperands().size() != expected) // (C1)
    return op.emitOpError() << "has " << op.getOperands().size() << " operands, expected " << expected;
  auto matrix = cast<RankedTensorType>(op.getOperands()[0].getType());
  if (matrix.getRank() < 2) // (C1)
    return op.emitOpError() << "factors " << matrix << ", expected matrices: rank 2 or more";
  if (expected == 1)
    return success();
  auto factors = cast<RankedTensorType>(op.getOperands()[1].getType());
  if (factors.getElementType() != matrix.getElementType() || factors.getRank() != matrix.getRank() - 1 ||
      factors.getShape().drop_back() != matrix.getShape().drop_back(2)) // (C1)
    return op.emitOpError() << "has factors of type " << factors << " of matrices of type " << matrix
                            << ", expected the same batch and element type";
  return success();
}

static LogicalResult verifyMatrix(FactorizeOp op) {
  int64_t m = op.getRows(), n = op.getColumns();
  bool isSquare = op.getKind() == FactorizationKind::cholesky || op.getKind() == FactorizationKind::eigh;
  if (isSquare && m != n) // (C2)
    return op.emitOpError() << "factors matrices of " << m << " x " << n << ", expected squares";
  if (op.getKind() != FactorizationKind::orthogonal)
    return success();
  int64_t factors = getShape(op.getOperands()[1]).back();
  if (n > m || factors > n) // (C2)
    return op.emitOpError() << "multiplies " << factors << " reflectors of " << m << " x " << n
                            << ", expected at most as many as columns, and at most as many columns as rows";
  return success();
}

LogicalResult FactorizeOp::verify() {
  if (failed(verifyOperands(*this)) || failed(verifyMatrix(*this)))
    return failure();
  SmallVector<Shape> shapes = getResultShapes(*this);
  if (getNumResults() != shapes.size()) // (C3)
    return emitOpError() << "has " << getNumResults() << " results, expected " << shapes.size();
  Type element = getElementTypeOrSelf(getOperands()[0]);
  for (auto [index, shape] : llvm::enumerate(shapes)) {
    bool isIndex = getKind() == FactorizationKind::lu && index > 0;
    Shape whole(getShape(getOperands()[0]).drop_back(2));
    llvm::append_range(whole, shape);
    auto expected = RankedTensorType::get(whole, isIndex ? IntegerType::get(getContext(), 32) : element);
    if (getResult(index).getType() != expected) // (C3)
      return emitOpError() << "result " << index << " has type " << getResult(index).getType()
                           << ", expected " << expected;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// TriangularSolveOp
//===----------------------------------------------------------------------===//

LogicalResult TriangularSolveOp::verify() {
  auto a = getMatrix().getType(), b = getRhs().getType();
  if (a.getRank() < 2 || a.getRank() != b.getRank() || a.getElementType() != b.getElementType() ||
      a.getShape().drop_back(2) != b.getShape().drop_back(2)) // (C1)
    return emitOpError() << "has a matrix of type " << a << " and a right-hand side of type " << b
                         << ", expected one element type, rank (2 or more) and batch";
  int64_t extent = getLeft() ? ::getRows(getRhs()) : ::getColumns(getRhs());
  if (::getRows(getMatrix()) != extent || ::getColumns(getMatrix()) != extent) // (C2)
    return emitOpError() << "has a matrix of type " << a << ", expected " << extent << " x " << extent
                         << " for a right-hand side of type " << b;
  return success();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// For one matrix of m x n.
static double getFlops(FactorizeOp op) {
  double m = double(op.getRows()), n = double(op.getColumns()), k = std::min(m, n), larger = std::max(m, n);
  double lu = 2 * m * n * k - (m + n) * k * k + 2 * k * k * k / 3;
  switch (op.getKind()) {
  case FactorizationKind::cholesky:
    return n * n * n / 3;
  case FactorizationKind::lu:
    return lu;
  case FactorizationKind::qr:
  case FactorizationKind::orthogonal:
    return 2 * lu;
  case FactorizationKind::eigh:
    return 9 * n * n * n;
  case FactorizationKind::svd:
    if (!op.hasVectors())
      return 4 * larger * k * k - 4 * k * k * k / 3;
    return op.isFull() ? 4 * larger * larger * k + 22 * k * k * k : 14 * larger * k * k + 8 * k * k * k;
  }
  llvm_unreachable("a kind that does not exist");
}

int64_t mlir::epl::getMatrixFlops(Operation *op) {
  double flops = 1;
  for (int64_t extent : getShape(op->getOperand(0)).drop_back(2))
    flops *= double(extent);
  if (auto solve = dyn_cast<TriangularSolveOp>(op))
    flops *= double(::getRows(solve.getRhs())) * double(::getColumns(solve.getRhs())) *
             double(::getRows(solve.getMatrix()));
  else
    flops *= getFlops(cast<FactorizeOp>(op));
  return int64_t(std::min(flops, 9e18));
}
