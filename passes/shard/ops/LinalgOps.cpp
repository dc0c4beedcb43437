//===- LinalgOps.cpp - What linalg ops mean for sharding ------------------===//
//
// Rules and statuses are derived from maps and bodies. What is left is what their bodies say of positions,
// and their loops of segments.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/localize/Localize.h"
#include "passes/shard/ops/Models.h"
#include "passes/shard/prepare/SegmentExpander.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Local ops
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

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// Calls visit(value, map) for each operand and each result.
static void forEachAccess(linalg::GenericOp op, function_ref<void(Value, AffineMap)> visit) {
  for (OpOperand &operand : op->getOpOperands())
    visit(operand.get(), op.getMatchingIndexingMap(&operand));
  for (OpOperand &init : op.getDpsInitsMutable())
    visit(op.getTiedOpResult(&init), op.getMatchingIndexingMap(&init));
}

/// For each loop the extent of the segments that it runs along, or 0; nothing if one runs along them in other
/// ways than from the first element to the last.
static std::optional<Form> getLoopForm(linalg::GenericOp op, const SegmentExpander &expander) {
  Form loops(op.getNumLoops());
  bool fits = true;
  forEachAccess(op, [&](Value value, AffineMap map) {
    for (auto [dim, expr] : llvm::zip(expander.getForm(value), map.getResults())) {
      if (!dim.isTwo())
        continue;
      auto loop = dyn_cast<AffineDimExpr>(expr);
      fits &= loop && (!loops[loop.getPosition()].isTwo() || loops[loop.getPosition()] == dim);
      if (loop)
        loops[loop.getPosition()] = dim;
    }
  });
  forEachAccess(op, [&](Value, AffineMap map) {
    for (AffineExpr expr : map.getResults())
      for (unsigned loop = 0; loop < loops.size(); ++loop)
        fits &= isa<AffineDimExpr>(expr) || !loops[loop].isTwo() || !expr.isFunctionOfDim(loop);
  });
  for (auto index : op.getBody()->getOps<linalg::IndexOp>())
    fits &= !loops[index.getDim()].parts; // positions in shares are not those in the whole
  return fits ? std::optional(loops) : std::nullopt;
}

/// The form of a tensor that is read or written through `map`.
static Form getAccessForm(AffineMap map, ArrayRef<DimForm> loops) {
  return llvm::map_to_vector<6>(map.getResults(), [&](AffineExpr expr) -> DimForm {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    return loop ? loops[loop.getPosition()] : DimForm();
  });
}

static AffineMap expandMap(AffineMap map, ArrayRef<DimForm> loops) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> renamed, results;
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    renamed.push_back(getAffineDimExpr(getPosition(loops, loop), context));
  for (AffineExpr expr : map.getResults()) {
    results.push_back(expr.replaceDims(renamed));
    if (auto loop = dyn_cast<AffineDimExpr>(expr); loop && loops[loop.getPosition()].isTwo())
      results.push_back(getAffineDimExpr(getPosition(loops, loop.getPosition()) + 1, context));
  }
  return AffineMap::get(getPosition(loops, loops.size()), 0, results, context);
}

/// The position along a loop of old is the segment's, and the one within.
static void expandIndices(linalg::GenericOp op, ArrayRef<DimForm> loops) {
  for (auto index : llvm::to_vector(op.getBody()->getOps<linalg::IndexOp>())) {
    int64_t width = loops[index.getDim()].inner, position = getPosition(loops, index.getDim());
    index.setDim(position);
    if (width == 0)
      continue;
    OpBuilder at(op.getContext());
    at.setInsertionPointAfter(index);
    Value extent = arith::ConstantIndexOp::create(at, index.getLoc(), width);
    auto begin = arith::MulIOp::create(at, index.getLoc(), index, extent);
    Value within = linalg::IndexOp::create(at, index.getLoc(), position + 1);
    Value sum = arith::AddIOp::create(at, index.getLoc(), begin, within);
    index.getResult().replaceAllUsesExcept(sum, begin);
  }
}

static bool expandGeneric(linalg::GenericOp op, SegmentExpander &expander) {
  std::optional<Form> loops = getLoopForm(op, expander);
  if (!loops)
    return false;
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> iterators;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    Value value = expander.getAs(operand.get(), getAccessForm(map, *loops), op);
    (op.isDpsInit(&operand) ? inits : inputs).push_back(value);
    maps.push_back(expandMap(map, *loops));
  }
  for (auto [kind, loop] : llvm::zip_equal(op.getIteratorTypesArray(), *loops))
    iterators.append(loop.isTwo() ? 2 : 1, kind);
  auto made = linalg::GenericOp::create(expander.builder, op.getLoc(), TypeRange(ValueRange(inits)), inputs,
                                        inits, maps, iterators);
  made.getRegion().takeBody(op.getRegion());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expandIndices(made, *loops);
  for (auto [init, result] : llvm::zip_equal(op.getDpsInitsMutable(), made.getResults()))
    expander.define(op.getTiedOpResult(&init), result,
                    getAccessForm(op.getMatchingIndexingMap(&init), *loops));
  return true;
}

namespace {
struct GenericModel : ShardableOp::ExternalModel<GenericModel, linalg::GenericOp> {
  bool localize(Operation *op, Localizer &localizer) const {
    auto local = cast<linalg::LinalgOp>(localizer.cloneLocal(op));
    offsetIndices(cast<linalg::LinalgOp>(op), local, localizer);
    return true;
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandGeneric(cast<linalg::GenericOp>(op), expander);
  }
};
} // namespace

void mlir::epl::registerLinalgModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    linalg::GenericOp::attachInterface<GenericModel>(*context);
  });
}
