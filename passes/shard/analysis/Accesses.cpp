//===- Accesses.cpp - Which elements an op reads for what it makes --------===//

#include "passes/shard/analysis/Accesses.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::epl;

AffineExpr Steps::addLoop(MLIRContext *context, int64_t extent) {
  loops.push_back(extent);
  return getAffineDimExpr(loops.size() - 1, context);
}

SmallVector<AffineExpr> Steps::addLoops(MLIRContext *context, ArrayRef<int64_t> shape) {
  return llvm::map_to_vector(shape, [&](int64_t extent) { return addLoop(context, extent); });
}

void Steps::setOperand(unsigned operand, ArrayRef<AffineExpr> position, MLIRContext *context) {
  operands[operand] = AffineMap::get(loops.size(), 0, position, context);
}

void Steps::setResult(unsigned result, ArrayRef<AffineExpr> position, MLIRContext *context) {
  results[result] = AffineMap::get(loops.size(), 0, position, context);
}

static SmallVector<Steps> getLinalgSteps(linalg::LinalgOp op) {
  Steps steps(op);
  steps.loops = op.getStaticLoopRanges();
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      steps.operands[operand.getOperandNumber()] = op.getMatchingIndexingMap(&operand);
  for (OpOperand &init : op.getDpsInitsMutable())
    steps.results[op.getTiedOpResult(&init).getResultNumber()] = op.getMatchingIndexingMap(&init);
  return {steps};
}

/// Dimensions for which `isShared` says so have one loop in all tensors, the others one in each.
static SmallVector<Steps> getSharedSteps(Operation *op, function_ref<bool(int64_t)> isShared) {
  MLIRContext *context = op->getContext();
  Steps steps(op);
  SmallVector<AffineExpr> shared;
  auto getPosition = [&](RankedTensorType type) {
    SmallVector<AffineExpr> position;
    for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
      while (shared.size() <= dim)
        shared.push_back({});
      if (isShared(dim) && !shared[dim])
        shared[dim] = steps.addLoop(context, extent);
      position.push_back(isShared(dim) ? shared[dim] : steps.addLoop(context, extent));
    }
    return position;
  };
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      steps.setResult(index, getPosition(type), context);
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      steps.setOperand(index, getPosition(type), context);
  return {steps};
}

SmallVector<Steps> mlir::epl::getPointwiseSteps(Operation *op, int64_t except) {
  return getSharedSteps(op, [&](int64_t dim) { return dim != except; });
}

SmallVector<Steps> mlir::epl::getBatchedSteps(Operation *op, int64_t first) {
  return getSharedSteps(op, [&](int64_t dim) { return dim < first; });
}

SmallVector<Steps> mlir::epl::deriveSteps(Operation *op) {
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op); linalg && linalg.hasPureTensorSemantics())
    return getLinalgSteps(linalg);
  return OpTrait::hasElementwiseMappableTraits(op) ? getPointwiseSteps(op) : getBatchedSteps(op, 0);
}
