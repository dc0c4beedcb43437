//===- Rules.cpp - The factor rule of each op -----------------------------===//

#include "passes/shard/analysis/Rules.h"

#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

using utils::IteratorType;

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
// The others
//===----------------------------------------------------------------------===//

bool mlir::epl::isUniform(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return isa<tensor::EmptyOp, tensor::SplatOp>(op) ||
         (constant && isa<SplatElementsAttr>(constant.getValue()));
}

/// Each dimension by itself.
static FactorRule getUniformRule(Operation *op) {
  FactorRule rule = getBlockedRule(op);
  for (SmallVector<int64_t> &result : rule.results)
    for (int64_t dim = 0; dim < int64_t(result.size()); ++dim)
      rule.link({{result, dim}});
  return rule;
}

FactorRule mlir::epl::deriveRule(Operation *op) {
  if (isUniform(op))
    return getUniformRule(op);
  if (OpTrait::hasElementwiseMappableTraits(op))
    return getSameShapeRule(op);
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  return linalg ? deriveLinalgRule(linalg) : getBlockedRule(op);
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
  auto model = dyn_cast<ShardableOp>(op);
  FactorRule rule = model ? model.getFactorRule() : deriveRule(op);
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
