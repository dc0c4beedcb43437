//===- InlineScopes.cpp - Inlining of region scopes -----------------------===//

#include "passes/annotate/InlineScopes.h"

#include "dialect/Stages.h"

using namespace mlir;
using namespace mlir::epl;

/// What the scope says, or null if `op` is none.
static ScopeAttr getScope(Operation *op) {
  auto get = [](auto scope) {
    StrategyAttr strategy = scope.getStrategy();
    return ScopeAttr::get(scope.getContext(), strategy.getKind(), strategy.getDeviceCount(),
                          scope.getScopeName().value_or(""), {}, {});
  };
  if (auto replicate = dyn_cast<ReplicateOp>(op))
    return get(replicate);
  auto split = dyn_cast<SplitOp>(op);
  if (!split)
    return {};
  ScopeAttr scope = get(split);
  return split.getDims()
             ? scope.withDims(llvm::to_vector(split.getDimsAttr().getAsRange<DimConstraintAttr>()))
             : scope;
}

llvm::DenseMap<Operation *, RegionScope> mlir::epl::inlineScopes(Block &block) {
  llvm::DenseMap<Operation *, RegionScope> origin;
  int64_t ordinal = 0;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    ScopeAttr scope = getScope(&op);
    if (!scope)
      continue;
    Block &body = op.getRegion(0).front();
    auto stages = op.getAttrOfType<IntegerAttr>(kStagesAttr);
    for (Operation &inner : body.without_terminator())
      origin[&inner] = {ordinal, scope, stages ? stages.getInt() : 1};
    ++ordinal;
    op.replaceAllUsesWith(body.getTerminator()->getOperands());
    body.getTerminator()->erase();
    block.getOperations().splice(op.getIterator(), body.getOperations());
    op.erase();
  }
  return origin;
}

void mlir::epl::markCheckpoints(Block &block) {
  for (auto checkpoint : llvm::make_early_inc_range(block.getOps<CheckpointOp>())) {
    if (Operation *op = checkpoint.getOperand().getDefiningOp())
      op->setAttr(EplDialect::kCheckpointAttr, UnitAttr::get(op->getContext()));
    checkpoint.erase();
  }
}
