//===- LocalizeOps.cpp - Ops on local tensors -----------------------------===//
//
// Most ops do on their local operands what they did on the global ones: the clone needs the local types of
// its results and no more. The others mention an extent or a position: constants, slices, reshapes, and
// `linalg.index` on a loop that is split.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/localize/Localize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

void mlir::epl::replaceByLocal(Operation *op, Operation *local, Localizer &localizer) {
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
  local->walk([&](linalg::IndexOp index) {
    SmallVector<StringRef> axes = getLoopAxes(global, index.getDim());
    if (axes.empty())
      return;
    OpBuilder builder(index->getBlock(), std::next(index->getIterator()));
    Value offset = localizer.createOffset(builder, index.getLoc(), mesh, axes, extents[index.getDim()]);
    auto sum = arith::AddIOp::create(builder, index.getLoc(), index, offset);
    index.getResult().replaceAllUsesExcept(sum, sum);
  });
}

static void localizeLinalg(linalg::LinalgOp op, Localizer &localizer) {
  auto local = cast<linalg::LinalgOp>(localizer.cloneLocal(op));
  offsetIndices(op, local, localizer);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// This rank's part of a constant that is not the same everywhere.
static Operation *createConstantSlice(arith::ConstantOp op, Localizer &localizer) {
  ShardingAttr sharding = getSharding(op);
  auto replicated = ShardingAttr::getReplicated(sharding.getMesh(), sharding.getRank());
  Operation *whole = localizer.builder.clone(*op);
  whole->setAttr(EplDialect::kShardingAttr, localizer.builder.getArrayAttr(replicated));
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  return localizer.createSlice(op.getLoc(), whole->getResult(0), mesh, replicated, sharding).getDefiningOp();
}

static void localizeConstant(arith::ConstantOp op, Localizer &localizer) {
  if (!isa<RankedTensorType>(op.getType()) || getSharding(op).isReplicated()) {
    localizer.builder.clone(*op, localizer.values);
    return;
  }
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return replaceByLocal(op, createConstantSlice(op, localizer), localizer);
  TypedAttr part = splat.resizeSplat(getLocalType(op));
  replaceByLocal(op, arith::ConstantOp::create(localizer.builder, op.getLoc(), part), localizer);
}

//===----------------------------------------------------------------------===//
// Reshapes and slices
//===----------------------------------------------------------------------===//

static void localizeExpandShape(tensor::ExpandShapeOp op, Localizer &localizer) {
  auto local =
      tensor::ExpandShapeOp::create(localizer.builder, op.getLoc(), getLocalType(op.getResult()),
                                    localizer.values.lookup(op.getSrc()), op.getReassociationIndices());
  replaceByLocal(op, local, localizer);
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

static void localizeExtractSlice(tensor::ExtractSliceOp op, Localizer &localizer) {
  auto local = cast<tensor::ExtractSliceOp>(localizer.cloneLocal(op));
  local.setStaticSizes(getLocalSizes(op.getStaticSizes(), op.getSourceType(), getLocalType(op.getSource())));
}

static void localizeInsertSlice(tensor::InsertSliceOp op, Localizer &localizer) {
  auto local = cast<tensor::InsertSliceOp>(localizer.cloneLocal(op));
  local.setStaticSizes(getLocalSizes(op.getStaticSizes(), op.getDestType(), getLocalType(op.getDest())));
}

void mlir::epl::localizeOp(Operation *op, Localizer &localizer) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](linalg::LinalgOp linalg) { localizeLinalg(linalg, localizer); })
      .Case([&](arith::ConstantOp constant) { localizeConstant(constant, localizer); })
      .Case([&](tensor::ExpandShapeOp expand) { localizeExpandShape(expand, localizer); })
      .Case([&](tensor::ExtractSliceOp slice) { localizeExtractSlice(slice, localizer); })
      .Case([&](tensor::InsertSliceOp slice) { localizeInsertSlice(slice, localizer); })
      .Case<LoopCarryOp, LoopLastOp, LoopSliceOp, LoopStackOp>(
          [&](auto edge) { localizeLoopEdge(edge, localizer); })
      .Case([&](GatherOp gather) { localizeGather(gather, localizer); })
      .Case([&](ScatterOp scatter) { localizeScatter(scatter, localizer); })
      .Default([&](Operation *other) { localizer.cloneLocal(other); });
}
