//===- ContractionLoops.cpp - The loops of a contraction, as strides -------------===//

#include "passes/kernel/ContractionLoops.h"

#include "passes/kernel/NarrowFloats.h"
#include "passes/kernel/OpRoles.h"
#include "passes/kernel/StridedAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

// Whether `inner` continues `outer` in every operand, so that both are one loop.
static bool continues(const ContractionLoop &outer, const ContractionLoop &inner) {
  return outer.isReduction() == inner.isReduction() && outer.a == inner.a * inner.extent &&
         outer.b == inner.b * inner.extent && outer.c == inner.c * inner.extent;
}

SmallVector<ContractionLoop> mlir::epl::mergeLoops(SmallVector<ContractionLoop> loops) {
  // Outer loops first, so that those which continue each other stand side by side.
  auto getKey = [](const ContractionLoop &loop) {
    int64_t reach = std::max({std::abs(loop.a), std::abs(loop.b), loop.c});
    return std::tuple(reach, loop.c, loop.a, loop.b, loop.extent);
  };
  llvm::sort(loops,
             [&](const ContractionLoop &l, const ContractionLoop &r) { return getKey(l) > getKey(r); });
  SmallVector<ContractionLoop> merged;
  for (const ContractionLoop &loop : loops) {
    auto outer = llvm::find_if(merged, [&](const ContractionLoop &outer) { return continues(outer, loop); });
    if (outer == merged.end())
      merged.push_back(loop);
    else
      *outer = {outer->extent * loop.extent, loop.a, loop.b, loop.c};
  }
  return merged;
}

// The linear index of what `map` reads of a row-major tensor; nothing if it is not strided.
static std::optional<StridedAccess> getAccess(AffineMap map, ArrayRef<int64_t> shape) {
  SmallVector<StridedAccess> dims, positions;
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    dims.push_back(StridedAccess::along(dim, map.getNumDims()));
  for (AffineExpr expr : map.getResults()) {
    std::optional<StridedAccess> position = apply(expr, dims, map.getNumDims());
    if (!position)
      return std::nullopt;
    positions.push_back(*position);
  }
  return linearize(positions, shape, map.getNumDims());
}

// Whether the op multiplies and adds in one type, to which it may widen its inputs.
static bool computesInOneType(GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return inner.getNumOperands() == 2 ||
           (isa<arith::ExtFOp>(inner) && isa<BlockArgument>(inner.getOperand(0)));
  });
}

// Whether the op multiplies and adds, and each of its parallel loops is a dimension of the result.
static bool isPlain(GenericOp op) {
  AffineMap result = op.getIndexingMapsArray().back();
  return isContraction(op) && op.getNumDpsInputs() == 2 && computesInOneType(op) &&
         result.isProjectedPermutation() && result.getNumResults() == op.getNumParallelLoops() &&
         !llvm::is_contained(op.getStaticLoopRanges(), 0) &&
         llvm::all_of(op.getOperandTypes(), [](Type type) { return isa<RankedTensorType>(type); });
}

static bool setLoops(GenericOp op, StridedContraction &contraction) {
  SmallVector<StridedAccess> accesses;
  for (auto [operand, map] : llvm::zip_equal(op->getOperands(), op.getIndexingMapsArray())) {
    auto access = getAccess(map, cast<RankedTensorType>(operand.getType()).getShape());
    if (!access)
      return false;
    accesses.push_back(*access);
  }
  contraction.offsetA = accesses[0].offset;
  contraction.offsetB = accesses[1].offset;
  for (auto [dim, extent] : llvm::enumerate(op.getStaticLoopRanges()))
    if (extent != 1)
      contraction.loops.push_back(
          {extent, accesses[0].strides[dim], accesses[1].strides[dim], accesses[2].strides[dim]});
  contraction.loops = mergeLoops(std::move(contraction.loops));
  return true;
}

Type StridedContraction::getSumType() const {
  return isNarrowFloat(element) ? Float32Type::get(element.getContext()) : element;
}

std::optional<StridedContraction> mlir::epl::matchContraction(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  auto op = yield->getNumOperands() == 1 ? yield->getOperand(0).getDefiningOp<GenericOp>() : GenericOp();
  if (kernel.getKind() != KernelKind::contraction || !op || !isPlain(op))
    return std::nullopt;
  auto a = dyn_cast<BlockArgument>(op.getInputs()[0]), b = dyn_cast<BlockArgument>(op.getInputs()[1]),
       init = dyn_cast<BlockArgument>(op.getDpsInits()[0]);
  StridedContraction contraction{};
  contraction.element = getElementTypeOrSelf(op.getResult(0));
  contraction.elementA = getElementTypeOrSelf(op.getInputs()[0]);
  contraction.elementB = getElementTypeOrSelf(op.getInputs()[1]);
  contraction.isLogical = isa<arith::AndIOp>(op.getBody()->front());
  if (init)
    contraction.init = init.getArgNumber();
  else
    contraction.fill = dyn_cast_or_null<TypedAttr>(getFillValue(op.getDpsInits()[0]));
  if (!a || !b || (!init && !contraction.fill) || !setLoops(op, contraction))
    return std::nullopt;
  contraction.a = a.getArgNumber();
  contraction.b = b.getArgNumber();
  return contraction;
}

int64_t mlir::epl::getVolume(ArrayRef<ContractionLoop> loops, int64_t ContractionLoop::*stride) {
  int64_t volume = 1;
  for (const ContractionLoop &loop : loops)
    if (!stride || loop.*stride)
      volume *= loop.extent;
  return volume;
}
