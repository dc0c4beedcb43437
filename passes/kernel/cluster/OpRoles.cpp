//===- OpRoles.cpp - What an op is to the clustering ----------------------===//

#include "passes/kernel/cluster/OpRoles.h"

#include "dialect/Matrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::epl;

/// Scalar ops that a value made of constants may cost and still be computed again at each use.
static constexpr int kCloneBudget = 8;

llvm::SetVector<Value> mlir::epl::getReadValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

bool mlir::epl::isContraction(linalg::GenericOp generic) {
  if (generic.getNumReductionLoops() == 0 || generic.getNumDpsInputs() < 2 || generic.getNumDpsInits() != 1)
    return false;
  // isContractionBody looks through every unary op, of which only casts leave a product of the inputs.
  bool hasUnary = llvm::any_of(generic.getBody()->without_terminator(), [](Operation &op) {
    return op.getNumOperands() == 1 && !isa<CastOpInterface>(op);
  });
  return !hasUnary &&
         linalg::detail::isContractionBody(*generic.getBody(), [](Operation *mul, Operation *add) {
           return (isa<arith::MulFOp>(mul) && isa<arith::AddFOp>(add)) ||
                  (isa<arith::MulIOp>(mul) && isa<arith::AddIOp>(add)) ||
                  (isa<arith::AndIOp>(mul) && isa<arith::OrIOp>(add));
         });
}

AffineMap mlir::epl::getCopyMap(linalg::GenericOp generic) {
  if (generic.getNumReductionLoops() != 0 || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 || !generic.getIndexingMapsArray().back().isIdentity())
    return {};
  Operation *yield = generic.getBody()->getTerminator();
  return yield->getOperand(0) == generic.getBody()->getArgument(0) ? generic.getIndexingMapsArray().front()
                                                                   : AffineMap();
}

bool mlir::epl::choosesLoops(AffineMap map) {
  llvm::SmallBitVector seen(map.getNumDims());
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || seen.test(dim.getPosition()))
      return !dim && expr == 0;
    seen.set(dim.getPosition());
    return true;
  });
}

bool mlir::epl::isBroadcast(linalg::GenericOp generic) {
  AffineMap map = getCopyMap(generic);
  if (!map || !choosesLoops(map))
    return false;
  SmallVector<unsigned> dims;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      dims.push_back(dim.getPosition());
  return llvm::is_sorted(dims);
}

bool mlir::epl::isTranspose(linalg::GenericOp generic) {
  AffineMap map = getCopyMap(generic);
  return map && map.isPermutation() && !map.isIdentity();
}

/// Whether each element of `value` is 0.
static bool isZero(Value value) {
  Attribute fill = getFillValue(value);
  auto integer = dyn_cast_or_null<IntegerAttr>(fill);
  auto number = dyn_cast_or_null<FloatAttr>(fill);
  return (integer && integer.getValue().isZero()) || (number && number.getValue().isZero());
}

bool mlir::epl::insertsIntoZeros(tensor::InsertSliceOp op) {
  auto isStatic = [](ArrayRef<int64_t> numbers) { return llvm::none_of(numbers, ShapedType::isDynamic); };
  return op.getSourceType().getRank() == op.getType().getRank() && op.getType().hasStaticShape() &&
         op.getSourceType().hasStaticShape() && isStatic(op.getStaticOffsets()) &&
         isStatic(op.getStaticStrides()) && isZero(op.getDest());
}

bool mlir::epl::isDilation(tensor::InsertSliceOp op) {
  if (!insertsIntoZeros(op))
    return false;
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim) {
    int64_t offset = op.getStaticOffset(dim), stride = op.getStaticStride(dim);
    int64_t positions = llvm::divideCeil(op.getType().getDimSize(dim) - offset, stride);
    if (offset >= stride || op.getSourceType().getDimSize(dim) != positions)
      return false;
  }
  return true;
}

Attribute mlir::epl::getFillValue(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    auto elements = dyn_cast<ElementsAttr>(constant);
    return !elements ? constant : elements.isSplat() ? elements.getSplatValue<Attribute>() : Attribute();
  }
  Operation *op = value.getDefiningOp();
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    return isBroadcast(generic) ? getFillValue(generic.getOperand(0)) : Attribute();
  return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ? getFillValue(op->getOperand(0))
                                                                             : Attribute();
}

/// Whether `value` is made of constants by no more than `budget` scalar ops per element; spends them.
static bool isCheapConstant(Value value, int &budget) {
  Operation *op = value.getDefiningOp();
  if (!op || budget < 0)
    return false;
  if (isa<arith::ConstantOp, tensor::EmptyOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (generic && generic.getNumParallelLoops() != generic.getNumLoops())
    return false;
  if (!generic && !isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::SplatOp>(op) &&
      isa<RankedTensorType>(value.getType()))
    return false;
  budget -= generic ? generic.getBody()->getOperations().size() - 1 : 1;
  return llvm::all_of(getReadValues(op), [&](Value read) { return isCheapConstant(read, budget); });
}

bool mlir::epl::isCheapConstant(Value value) {
  int budget = kCloneBudget;
  return ::isCheapConstant(value, budget);
}

/// Whether contractions, and nothing else, read what is dilated: their kernels skip the zeros.
static bool isContracted(tensor::InsertSliceOp op) {
  return isDilation(op) && llvm::all_of(op->getUsers(), [](Operation *user) {
           auto generic = dyn_cast<linalg::GenericOp>(user);
           return generic && isContraction(generic);
         });
}

OpRole mlir::epl::getOpRole(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return OpRole::view;
  if (isMatrixOp(op))
    return OpRole::factorization;
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op); slice && isContracted(slice))
    return OpRole::clone;
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (isa<arith::ConstantOp, tensor::EmptyOp, tensor::SplatOp>(op) ||
      llvm::none_of(op->getResultTypes(), isTensor))
    return OpRole::clone;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return OpRole::fusion;
  if (isContraction(generic))
    return OpRole::contraction;
  return isBroadcast(generic) || isCheapConstant(generic.getResult(0)) ? OpRole::clone : OpRole::fusion;
}
