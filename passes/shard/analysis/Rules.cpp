//===- Rules.cpp - Factor rules: what sharding an op allows ---------------===//

#include "passes/shard/analysis/Rules.h"

#include "dialect/Indexed.h"
#include "dialect/Matrices.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

using utils::IteratorType;

namespace {
/// A dimension of an operand or result: the entry of the rule that a factor is written to.
struct DimRef {
  SmallVector<int64_t> &dims;
  int64_t dim;
};
} // namespace

/// The rank of a tensor, 0 of everything else.
static int64_t getRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

static FactorRule getBlockedRule(Operation *op) {
  FactorRule rule;
  for (Value operand : op->getOperands())
    rule.operands.emplace_back(getRank(operand), FactorRule::kBlocked);
  for (Value result : op->getResults())
    rule.results.emplace_back(getRank(result), FactorRule::kBlocked);
  rule.reductions.assign(op->getNumResults(), ReductionKind::sum);
  return rule;
}

/// Makes a parallel factor of the given dimensions.
static void link(FactorRule &rule, ArrayRef<DimRef> dims) {
  for (DimRef ref : dims)
    ref.dims[ref.dim] = rule.factors.size();
  rule.factors.push_back(IteratorType::parallel);
}

//===----------------------------------------------------------------------===//
// linalg: derived from maps, iterator types and bodies
//===----------------------------------------------------------------------===//

/// The reduction that `combiner` performs; none if members could not combine their parts with a collective.
/// Unsigned and NaN-dropping maxima differ from the collective's, i1 sums are exclusive ors.
static std::optional<ReductionKind> getReductionKind(Operation *combiner) {
  bool isBool = combiner->getResult(0).getType().isInteger(1);
  using Kind = std::optional<ReductionKind>;
  return TypeSwitch<Operation *, Kind>(combiner)
      .Case<arith::AddFOp>([](auto) { return ReductionKind::sum; })
      .Case<arith::MulFOp>([](auto) { return ReductionKind::prod; })
      .Case<arith::MaximumFOp>([](auto) { return ReductionKind::max; })
      .Case<arith::MinimumFOp>([](auto) { return ReductionKind::min; })
      .Case<arith::AddIOp>([&](auto) { return isBool ? Kind() : ReductionKind::sum; })
      .Case<arith::MulIOp>([&](auto) { return isBool ? Kind() : ReductionKind::prod; })
      .Case<arith::MaxSIOp>([&](auto) { return isBool ? Kind() : ReductionKind::max; })
      .Case<arith::MinSIOp>([&](auto) { return isBool ? Kind() : ReductionKind::min; })
      .Case<arith::AndIOp>([&](auto) { return isBool ? ReductionKind::all : Kind(); })
      .Case<arith::OrIOp>([&](auto) { return isBool ? ReductionKind::any : Kind(); })
      .Default(Kind());
}

/// How each result combines over the reduction loops, or nothing if the body of one is no known reduction.
static std::optional<SmallVector<ReductionKind>> matchCombiners(linalg::LinalgOp op) {
  SmallVector<ReductionKind> kinds;
  for (int64_t result = 0; result < op.getNumDpsInits(); ++result) {
    SmallVector<Operation *> combiners;
    if (!matchReduction(op.getRegionOutputArgs(), result, combiners) || combiners.size() != 1)
      return std::nullopt;
    std::optional<ReductionKind> kind = getReductionKind(combiners.front());
    if (!kind)
      return std::nullopt;
    kinds.push_back(*kind);
  }
  return kinds;
}

/// A loop walks a dimension only where it stands alone: in a window (`d1 * 2 + d4`) members would need their
/// neighbours' rows.
static bool isInWindow(linalg::LinalgOp op, unsigned loop) {
  return llvm::any_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
      return !isa<AffineDimExpr>(expr) && expr.isFunctionOfDim(loop);
    });
  });
}

/// A loop along a diagonal (`(d0, d0)`) would need blocks that lie on it, not slices.
static bool isDiagonal(linalg::LinalgOp op, unsigned loop) {
  AffineExpr dim = getAffineDimExpr(loop, op->getContext());
  return llvm::any_of(op.getIndexingMapsArray(),
                      [&](AffineMap map) { return llvm::count(map.getResults(), dim) > 1; });
}

/// A parallel loop must walk a dimension of every result, a reduction loop none.
static bool fitsResults(linalg::LinalgOp op, unsigned loop, bool reduction) {
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    return op.getMatchingIndexingMap(&init).isFunctionOfDim(loop) != reduction;
  });
}

static FactorRule deriveLinalgRule(linalg::LinalgOp op) {
  FactorRule rule = getBlockedRule(op);
  if (!op.hasPureTensorSemantics())
    return rule;
  rule.factors = op.getIteratorTypesArray();
  std::optional<SmallVector<ReductionKind>> combiners = matchCombiners(op);
  rule.reductions = combiners.value_or(rule.reductions);

  SmallVector<bool> shardable;
  for (auto [loop, kind] : llvm::enumerate(rule.factors)) {
    bool reduction = kind == IteratorType::reduction;
    shardable.push_back(!isInWindow(op, loop) && !isDiagonal(op, loop) && fitsResults(op, loop, reduction) &&
                        (!reduction || combiners));
  }
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr); loop && shardable[loop.getPosition()])
        rule.operands[operand.getOperandNumber()][dim] = loop.getPosition();
  for (OpOperand &init : op.getDpsInitsMutable())
    rule.results[op.getTiedOpResult(&init).getResultNumber()] = rule.operands[init.getOperandNumber()];
  return rule;
}

//===----------------------------------------------------------------------===//
// Rules by hand
//===----------------------------------------------------------------------===//

/// Reshapes: the collapsed dimension is laid out as the first of its group that is not 1, the others within.
template <typename ReshapeOp> static FactorRule getReshapeRule(ReshapeOp op) {
  FactorRule rule = getBlockedRule(op);
  constexpr bool expands = std::is_same_v<ReshapeOp, tensor::ExpandShapeOp>;
  RankedTensorType expandedType = expands ? op.getResultType() : op.getSrcType();
  SmallVector<int64_t> &collapsed = expands ? rule.operands[0] : rule.results[0];
  SmallVector<int64_t> &expanded = expands ? rule.results[0] : rule.operands[0];
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    auto major = llvm::find_if(group, [&](int64_t d) { return expandedType.getDimSize(d) != 1; });
    if (major != group.end())
      link(rule, {{collapsed, static_cast<int64_t>(dim)}, {expanded, *major}});
  }
  return rule;
}

/// Links the dimensions of `whole` that a slice takes in full to those of `part`, which lacks the dropped
/// ones.
static void linkSlice(FactorRule &rule, OffsetSizeAndStrideOpInterface slice, RankedTensorType wholeType,
                      const llvm::SmallBitVector &dropped, ArrayRef<SmallVector<int64_t> *> wholes,
                      SmallVector<int64_t> &part) {
  int64_t partDim = 0;
  for (int64_t dim = 0; dim < wholeType.getRank(); ++dim) {
    if (dropped.test(dim))
      continue;
    if (slice.getStaticSizes()[dim] == wholeType.getDimSize(dim) && slice.getStaticStrides()[dim] == 1) {
      SmallVector<DimRef> dims = {{part, partDim}};
      for (SmallVector<int64_t> *whole : wholes)
        dims.push_back({*whole, dim});
      link(rule, dims);
    }
    ++partDim;
  }
}

static FactorRule getExtractSliceRule(tensor::ExtractSliceOp op) {
  FactorRule rule = getBlockedRule(op);
  linkSlice(rule, op, op.getSourceType(), op.getDroppedDims(), {&rule.operands[0]}, rule.results[0]);
  return rule;
}

static FactorRule getInsertSliceRule(tensor::InsertSliceOp op) {
  FactorRule rule = getBlockedRule(op);
  linkSlice(rule, op, op.getDestType(), op.getDroppedDims(), {&rule.operands[1], &rule.results[0]},
            rule.operands[0]);
  return rule;
}

/// Dimensions without padding are parallel, unless the padding depends on the position.
static FactorRule getPadRule(tensor::PadOp op) {
  FactorRule rule = getBlockedRule(op);
  if (!op.getConstantPaddingValue())
    return rule;
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim)
    if (op.getStaticLow()[dim] == 0 && op.getStaticHigh()[dim] == 0)
      link(rule, {{rule.operands[0], dim}, {rule.results[0], dim}});
  return rule;
}

/// Every dimension but `except` is the same one in all operands and results.
static FactorRule getPointwiseRule(Operation *op, int64_t except = FactorRule::kBlocked) {
  FactorRule rule = getBlockedRule(op);
  for (int64_t dim = 0; dim < getRank(op->getResult(0)); ++dim) {
    if (dim == except)
      continue;
    SmallVector<DimRef> dims;
    for (auto *side : {&rule.operands, &rule.results})
      for (SmallVector<int64_t> &entry : *side)
        dims.push_back({entry, dim});
    link(rule, dims);
  }
  return rule;
}

/// What windows take of the operand as a whole is parallel: the operand's dimension, written by a scatter as
/// well, and the windows'. A dimension where windows begin at computed positions is blocked.
static void linkWindows(FactorRule &rule, const IndexedAccess &access,
                        ArrayRef<SmallVector<int64_t> *> wholes, SmallVector<int64_t> &windows,
                        MutableArrayRef<SmallVector<int64_t>> indices) {
  for (int64_t dim = 0; dim < access.operand.getRank(); ++dim) {
    if (access.operandDims[dim] < 0 || !access.isWhole(dim))
      continue;
    SmallVector<DimRef> dims = {{windows, access.operandDims[dim]}};
    for (SmallVector<int64_t> *whole : wholes)
      dims.push_back({*whole, dim});
    if (int64_t batch = access.getBatchDim(dim); batch >= 0)
      for (SmallVector<int64_t> &index : indices)
        dims.push_back({index, batch});
    link(rule, dims);
  }
}

/// Makes a factor of each dimension of the positions that is no batch: what it is read at, or written at.
static void linkPositions(FactorRule &rule, const IndexedAccess &access, SmallVector<int64_t> &windows,
                          MutableArrayRef<SmallVector<int64_t>> indices, IteratorType iterator) {
  for (auto [dim, window] : llvm::enumerate(access.indexDims)) {
    if (llvm::is_contained(access.operandDims, window))
      continue;
    SmallVector<DimRef> dims = {{windows, window}};
    for (SmallVector<int64_t> &index : indices)
      dims.push_back({index, static_cast<int64_t>(dim)});
    link(rule, dims);
    rule.factors.back() = iterator;
  }
}

/// Whether to complete a sum over the windows moves no more than to gather the operand. Members could not sum
/// booleans.
static bool isLookupCheaper(const IndexedAccess &access) {
  return access.operand.hasStaticShape() && access.windows.hasStaticShape() &&
         2 * access.windows.getNumElements() <= access.operand.getNumElements() &&
         !access.operand.getElementType().isInteger(1);
}

/// Each member can read what lies in its part and zeros elsewhere: a sum is pending then.
static void linkLookups(FactorRule &rule, const IndexedAccess &access) {
  if (!isLookupCheaper(access))
    return;
  for (int64_t dim : access.of) {
    if (!access.isElement(dim))
      continue;
    rule.lookups.push_back(rule.factors.size());
    link(rule, {{rule.operands[0], dim}});
    rule.factors.back() = IteratorType::reduction;
  }
}

static FactorRule getGatherRule(GatherOp op) {
  FactorRule rule = getBlockedRule(op);
  IndexedAccess access(op);
  auto indices = MutableArrayRef(rule.operands).drop_front(1);
  linkWindows(rule, access, {&rule.operands[0]}, rule.results[0], indices);
  linkPositions(rule, access, rule.results[0], indices, IteratorType::parallel);
  linkLookups(rule, access);
  return rule;
}

/// Members can each write the updates that lie in their part, or each add their updates, a sum is pending
/// then. Other combinations have an order, or results that are no sum.
static FactorRule getScatterRule(ScatterOp op) {
  FactorRule rule = getBlockedRule(op);
  IndexedAccess access(op);
  auto indices = MutableArrayRef(rule.operands).drop_front(2);
  linkWindows(rule, access, {&rule.operands[1], &rule.results[0]}, rule.operands[0], indices);
  for (int64_t dim : access.of)
    if (access.isElement(dim))
      link(rule, {{rule.operands[1], dim}, {rule.results[0], dim}});
  if (op.getCombine() == CombineKind::add)
    linkPositions(rule, access, rule.operands[0], indices, IteratorType::reduction);
  return rule;
}

/// Ops on tensors of one shape, element by element.
static bool isPointwise(Operation *op) {
  bool identity = isa<tensor::CastOp, tensor::BitcastOp, UnrealizedConversionCastOp>(op) &&
                  op->getNumOperands() == 1 && op->getNumResults() == 1;
  if (!identity && !OpTrait::hasElementwiseMappableTraits(op))
    return false;
  auto shape = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return shape && llvm::all_of(op->getOperandTypes(), [&](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return tensor && tensor.getShape() == shape.getShape();
         });
}

bool mlir::epl::isUniform(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return isa<tensor::EmptyOp, tensor::SplatOp>(op) ||
         (constant && isa<SplatElementsAttr>(constant.getValue()));
}

/// Dimension 0 of a stack counts iterations.
static FactorRule getStackRule(Operation *op, bool slices) {
  FactorRule rule = getBlockedRule(op);
  SmallVector<int64_t> &stack = slices ? rule.operands[0] : rule.results[0];
  SmallVector<int64_t> &part = slices ? rule.results[0] : rule.operands[0];
  for (int64_t dim = 0; dim < static_cast<int64_t>(part.size()); ++dim)
    link(rule, {{stack, dim + 1}, {part, dim}});
  return rule;
}

/// Matrices are taken whole, those of a batch by themselves.
static FactorRule getMatrixRule(Operation *op) {
  FactorRule rule = getBlockedRule(op);
  for (int64_t dim = 0; dim < getNumBatchDims(op); ++dim) {
    SmallVector<DimRef> dims;
    for (auto *side : {&rule.operands, &rule.results})
      for (SmallVector<int64_t> &entry : *side)
        dims.push_back({entry, dim});
    link(rule, dims);
  }
  return rule;
}

/// Right-hand sides are solved by themselves.
static FactorRule getTriangularSolveRule(TriangularSolveOp op) {
  FactorRule rule = getMatrixRule(op);
  int64_t dim = getNumBatchDims(op) + (op.getLeft() ? 1 : 0);
  link(rule, {{rule.operands[1], dim}, {rule.results[0], dim}});
  return rule;
}

static FactorRule getUniformRule(Operation *op) {
  FactorRule rule = getBlockedRule(op);
  for (int64_t dim = 0; dim < getRank(op->getResult(0)); ++dim)
    link(rule, {{rule.results[0], dim}});
  return rule;
}

static FactorRule makeRule(Operation *op) {
  if (isUniform(op))
    return getUniformRule(op);
  if (isPointwise(op))
    return getPointwiseRule(op);
  return TypeSwitch<Operation *, FactorRule>(op)
      .Case([](linalg::LinalgOp linalg) { return deriveLinalgRule(linalg); })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
          [](auto reshape) { return getReshapeRule(reshape); })
      .Case([](tensor::ExtractSliceOp slice) { return getExtractSliceRule(slice); })
      .Case([](tensor::InsertSliceOp slice) { return getInsertSliceRule(slice); })
      .Case([](tensor::PadOp pad) { return getPadRule(pad); })
      .Case([](ConcatenateOp concat) { return getPointwiseRule(concat, concat.getDim()); })
      .Case([](GatherOp gather) { return getGatherRule(gather); })
      .Case([](ScatterOp scatter) { return getScatterRule(scatter); })
      .Case<LoopCarryOp, LoopLastOp>([](auto carried) { return getPointwiseRule(carried); })
      .Case([](LoopSliceOp slice) { return getStackRule(slice, /*slices=*/true); })
      .Case([](LoopStackOp stack) { return getStackRule(stack, /*slices=*/false); })
      .Case([](SortOp sort) { return getPointwiseRule(sort, sort.getDim()); })
      .Case([](FactorizeOp factorize) { return getMatrixRule(factorize); })
      .Case([](TriangularSolveOp solve) { return getTriangularSolveRule(solve); })
      .Case<ReshardOp, ConstrainOp>([](auto same) { return getPointwiseRule(same); })
      .Default([](Operation *other) { return getBlockedRule(other); });
}

/// Whether a rule says something of each dimension of `values`, and names only factors that it has.
[[maybe_unused]] static bool fits(const FactorRule &rule, ValueRange values,
                                  ArrayRef<SmallVector<int64_t>> dimFactors) {
  return values.size() == dimFactors.size() &&
         llvm::all_of(llvm::zip_equal(values, dimFactors), [&](auto pair) {
           auto [value, dims] = pair;
           auto type = dyn_cast<RankedTensorType>(value.getType());
           return int64_t(dims.size()) == (type ? type.getRank() : 0) &&
                  llvm::all_of(dims, [&](int64_t factor) {
                    return factor >= FactorRule::kBlocked && factor < int64_t(rule.factors.size());
                  });
         });
}

FactorRule mlir::epl::getFactorRule(Operation *op) {
  FactorRule rule = makeRule(op);
  assert(fits(rule, op->getOperands(), rule.operands) && fits(rule, op->getResults(), rule.results) &&
         "a rule says something of each dimension of all operands and results");
  return rule;
}

SmallVector<OpOperand *> mlir::epl::getCapturedTensors(Operation *op) {
  SmallVector<OpOperand *> captured;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (isa<RankedTensorType>(operand.get().getType()) &&
            !op->isAncestor(operand.get().getParentRegion()->getParentOp()))
          captured.push_back(&operand);
    });
  return captured;
}

SetVector<Value> mlir::epl::getUsedValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}
