//===- MatrixOps.cpp - What factorizations and sorts mean for sharding ----===//
//
// Ops that take a matrix, or a line, as a whole. Those of a batch are computed by themselves, and so are the
// right-hand sides of a solve.
//
//===----------------------------------------------------------------------===//

#include "dialect/Matrices.h"
#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/ops/Models.h"

using namespace mlir;
using namespace mlir::epl;

static FactorRule getMatrixRule(Operation *op) {
  FactorRule rule = getBlockedRule(op);
  for (int64_t dim = 0; dim < getNumBatchDims(op); ++dim)
    rule.linkAll(dim);
  return rule;
}

namespace {
struct FactorizeModel : ShardableOp::ExternalModel<FactorizeModel, FactorizeOp> {
  FactorRule getFactorRule(Operation *op) const { return getMatrixRule(op); }
  SmallVector<Steps> getSteps(Operation *op) const { return getBatchedSteps(op, getNumBatchDims(op)); }
  int64_t countMultiplyAdds(Operation *op) const { return getMatrixFlops(op) / 2; }
  bool isWorthSkipping(Operation *op) const { return true; }
};

struct TriangularSolveModel : ShardableOp::ExternalModel<TriangularSolveModel, TriangularSolveOp> {
  FactorRule getFactorRule(Operation *op) const {
    FactorRule rule = getMatrixRule(op);
    int64_t dim = getNumBatchDims(op) + (cast<TriangularSolveOp>(op).getLeft() ? 1 : 0);
    rule.link({{rule.operands[1], dim}, {rule.results[0], dim}});
    return rule;
  }
  SmallVector<Steps> getSteps(Operation *op) const {
    MLIRContext *context = op->getContext();
    int64_t batch = getNumBatchDims(op), dim = batch + (cast<TriangularSolveOp>(op).getLeft() ? 1 : 0);
    Steps steps(op);
    auto getShape = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
    SmallVector<AffineExpr> matrix = steps.addLoops(context, getShape(op->getOperand(0)));
    SmallVector<AffineExpr> result = steps.addLoops(context, getShape(op->getResult(0))), rhs = result;
    int64_t solved = 2 * batch + 1 - dim; // the dimension that is solved for, which is read as a whole
    rhs[solved] = steps.addLoop(context, getShape(op->getResult(0))[solved]);
    std::copy(result.begin(), result.begin() + batch, matrix.begin());
    steps.setOperand(0, matrix, context);
    steps.setOperand(1, rhs, context);
    steps.setResult(0, result, context);
    return {steps};
  }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {evaluateQuotient(operands[1], operands[0])};
  }
  int64_t countMultiplyAdds(Operation *op) const { return getMatrixFlops(op) / 2; }
  bool isWorthSkipping(Operation *op) const { return true; }
};

struct SortModel : ShardableOp::ExternalModel<SortModel, SortOp> {
  FactorRule getFactorRule(Operation *op) const { return getPointwiseRule(op, cast<SortOp>(op).getDim()); }
  SmallVector<Steps> getSteps(Operation *op) const {
    return getPointwiseSteps(op, cast<SortOp>(op).getDim());
  }
  bool isWorthSkipping(Operation *op) const { return true; }
};
} // namespace

void mlir::epl::registerMatrixModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, EplDialect *) {
    FactorizeOp::attachInterface<FactorizeModel>(*context);
    TriangularSolveOp::attachInterface<TriangularSolveModel>(*context);
    SortOp::attachInterface<SortModel>(*context);
  });
}
