//===- ContractionLoops.cpp - The loops of a contraction, as strides -------------===//

#include "passes/kernel/match/ContractionLoops.h"

#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/cluster/OpRoles.h"
#include "passes/kernel/match/Phases.h"

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

// Adds what `map` reads of a row-major tensor to `nest`; false if it is not strided. `dilation` puts zeros
// between the tensor's elements first.
static bool addAccess(StridedNest &nest, AffineMap map, ArrayRef<int64_t> shape,
                      tensor::InsertSliceOp dilation) {
  SmallVector<StridedAccess> dims, positions;
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    dims.push_back(StridedAccess::along(dim, map.getNumDims()));
  SmallVector<int64_t> strides = getStrides(shape);
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    std::optional<StridedAccess> position = apply(expr, dims, map.getNumDims());
    if (!position)
      return false;
    int64_t modulus = dilation ? dilation.getStaticStride(dim) : 1;
    if (modulus != 1) {
      position->offset -= dilation.getStaticOffset(dim);
      nest.gaps.push_back({nest.accesses.size(), *position, modulus, strides[dim]});
      position = StridedAccess::constant(0, map.getNumDims());
    }
    positions.push_back(*position);
  }
  nest.accesses.push_back(linearize(positions, shape, map.getNumDims()));
  return true;
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

tensor::InsertSliceOp mlir::epl::getDilation(Value value) {
  auto dilation = value.getDefiningOp<tensor::InsertSliceOp>();
  return dilation && isDilation(dilation) ? dilation : tensor::InsertSliceOp();
}

Type StridedContraction::getSumType() const {
  return isNarrowFloat(element) ? Float32Type::get(element.getContext()) : element;
}

// What is in memory of an operand: itself, or what is dilated.
static Value getStored(Value operand) {
  tensor::InsertSliceOp dilation = getDilation(operand);
  return dilation ? dilation.getSource() : operand;
}

// The loops of the op over what is in memory.
static std::optional<PhasedNests> getNests(GenericOp op) {
  StridedNest nest{op.getStaticLoopRanges(), {}, {}};
  for (auto [operand, map] : llvm::zip_equal(op->getOperands(), op.getIndexingMapsArray())) {
    auto shape = cast<RankedTensorType>(getStored(operand).getType()).getShape();
    if (!addAccess(nest, map, shape, getDilation(operand)))
      return std::nullopt;
  }
  return skipGaps(nest);
}

// `contraction` over the loops of `nest`.
static StridedContraction setLoops(StridedContraction contraction, const StridedNest &nest) {
  const StridedAccess &a = nest.accesses[0], &b = nest.accesses[1], &c = nest.accesses[2];
  std::tie(contraction.offsetA, contraction.offsetB, contraction.offsetC) =
      std::tuple(a.offset, b.offset, c.offset);
  for (auto [dim, extent] : llvm::enumerate(nest.extents))
    if (extent != 1)
      contraction.loops.push_back({extent, a.strides[dim], b.strides[dim], c.strides[dim]});
  contraction.loops = mergeLoops(std::move(contraction.loops));
  return contraction;
}

GenericOp mlir::epl::getContraction(KernelOp kernel) {
  Operation *yield = kernel.getBody().front().getTerminator();
  auto op = yield->getNumOperands() == 1 ? yield->getOperand(0).getDefiningOp<GenericOp>() : GenericOp();
  return kernel.getKind() == KernelKind::contraction && op && isPlain(op) ? op : GenericOp();
}

std::optional<ContractionParts> mlir::epl::matchContraction(KernelOp kernel) {
  GenericOp op = getContraction(kernel);
  if (!op)
    return std::nullopt;
  auto a = dyn_cast<BlockArgument>(getStored(op.getInputs()[0])),
       b = dyn_cast<BlockArgument>(getStored(op.getInputs()[1])),
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
  std::optional<PhasedNests> phased = getNests(op);
  bool isFilled = contraction.fill || (contraction.init && phased && phased->coversResult);
  if (!a || !b || !isFilled || !phased || phased->nests.empty())
    return std::nullopt;
  contraction.a = a.getArgNumber();
  contraction.b = b.getArgNumber();
  ContractionParts parts{{}, phased->coversResult};
  for (const StridedNest &nest : phased->nests)
    parts.parts.push_back(setLoops(contraction, nest));
  return parts;
}

int64_t mlir::epl::getVolume(ArrayRef<ContractionLoop> loops, int64_t ContractionLoop::*stride) {
  int64_t volume = 1;
  for (const ContractionLoop &loop : loops)
    if (!stride || loop.*stride)
      volume *= loop.extent;
  return volume;
}
