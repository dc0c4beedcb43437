//===- LocalizeOps.cpp - Ops on local tensors -----------------------------===//
//
// Most ops do on their local operands what they did on the global ones: the clone needs the local types of
// its results and no more. The others mention an extent or a position: constants, slices, reshapes, and
// `linalg.index` on a loop that is split.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Localize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

/// Puts `local` in the place of the results of `op` and keeps what is known about the op.
static void replaceByLocal(Operation *op, Operation *local, Localizer &localizer) {
  local->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  localizer.values.map(op->getResults(), local->getResults());
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// The axes that split loop `loop`: those of an operand dimension that the loop runs along.
static SmallVector<StringRef> getLoopAxes(linalg::LinalgOp op, unsigned loop) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (std::optional<unsigned> dim = map.getResultPosition(getAffineDimExpr(loop, op->getContext())))
      return getSharding(operand.get()).getDimAxes(*dim);
  }
  return {};
}

/// A local loop counts from the beginning of this rank's part: adds where that is.
static void offsetIndices(linalg::LinalgOp global, linalg::LinalgOp local, Localizer &localizer) {
  SmallVector<int64_t> extents = local.getStaticLoopRanges();
  MeshOp mesh = lookupMesh(global, getSharding(global->getResult(0)).getMesh());
  for (auto index : llvm::make_early_inc_range(local.getBlock()->getOps<linalg::IndexOp>())) {
    SmallVector<StringRef> axes = getLoopAxes(global, index.getDim());
    if (axes.empty())
      continue;
    OpBuilder builder(index->getBlock(), std::next(index->getIterator()));
    Value offset = localizer.createOffset(builder, index.getLoc(), mesh, axes, extents[index.getDim()]);
    auto sum = arith::AddIOp::create(builder, index.getLoc(), index, offset);
    index.getResult().replaceAllUsesExcept(sum, sum);
  }
}

static LogicalResult localizeLinalg(linalg::LinalgOp op, Localizer &localizer) {
  auto local = cast<linalg::LinalgOp>(localizer.cloneLocal(op));
  offsetIndices(op, local, localizer);
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static LogicalResult localizeConstant(arith::ConstantOp op, Localizer &localizer) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  ShardingAttr sharding = type ? getSharding(op) : ShardingAttr();
  if (!type || sharding.isReplicated())
    return localizer.builder.clone(*op, localizer.values), success();
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (elements && elements.isSplat()) {
    auto local =
        arith::ConstantOp::create(localizer.builder, op.getLoc(), elements.resizeSplat(getLocalType(op)));
    return replaceByLocal(op, local, localizer), success();
  }
  auto whole = cast<arith::ConstantOp>(localizer.builder.clone(*op));
  auto replicated = ShardingAttr::getReplicated(sharding.getMesh(), type.getRank());
  whole->setAttr(EplDialect::kShardingAttr, localizer.builder.getArrayAttr(replicated));
  Value slice =
      localizer.createSlice(op.getLoc(), whole, lookupMesh(op, sharding.getMesh()), replicated, sharding);
  return replaceByLocal(op, slice.getDefiningOp(), localizer), success();
}

//===----------------------------------------------------------------------===//
// Reshapes and slices
//===----------------------------------------------------------------------===//

static LogicalResult localizeExpandShape(tensor::ExpandShapeOp op, Localizer &localizer) {
  auto local =
      tensor::ExpandShapeOp::create(localizer.builder, op.getLoc(), getLocalType(op.getResult()),
                                    localizer.values.lookup(op.getSrc()), op.getReassociationIndices());
  return replaceByLocal(op, local, localizer), success();
}

/// The sizes of a slice of `global`, for `local`: a dimension that is taken whole is whole on every rank too.
static SmallVector<int64_t> getLocalSizes(ArrayRef<int64_t> sizes, RankedTensorType global,
                                          RankedTensorType local) {
  SmallVector<int64_t> result(sizes);
  for (auto [size, whole, part] : llvm::zip(result, global.getShape(), local.getShape()))
    if (size == whole)
      size = part;
  return result;
}

static LogicalResult localizeExtractSlice(tensor::ExtractSliceOp op, Localizer &localizer) {
  auto local = cast<tensor::ExtractSliceOp>(localizer.cloneLocal(op));
  local.setStaticSizes(getLocalSizes(op.getStaticSizes(), op.getSourceType(), getLocalType(op.getSource())));
  return success();
}

static LogicalResult localizeInsertSlice(tensor::InsertSliceOp op, Localizer &localizer) {
  auto local = cast<tensor::InsertSliceOp>(localizer.cloneLocal(op));
  local.setStaticSizes(getLocalSizes(op.getStaticSizes(), op.getDestType(), getLocalType(op.getDest())));
  return success();
}

LogicalResult mlir::epl::localizeOp(Operation *op, Localizer &localizer) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](linalg::LinalgOp linalg) { return localizeLinalg(linalg, localizer); })
      .Case([&](arith::ConstantOp constant) { return localizeConstant(constant, localizer); })
      .Case([&](tensor::ExpandShapeOp expand) { return localizeExpandShape(expand, localizer); })
      .Case([&](tensor::ExtractSliceOp slice) { return localizeExtractSlice(slice, localizer); })
      .Case([&](tensor::InsertSliceOp slice) { return localizeInsertSlice(slice, localizer); })
      .Default([&](Operation *other) { return localizer.cloneLocal(other), success(); });
}
