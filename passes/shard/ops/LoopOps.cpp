//===- LoopOps.cpp - What enters and leaves a loop, for sharding ----------===//
//
// A carried value is distributed in one way in all iterations. Dimension 0 of what is stacked or sliced
// counts iterations, the others are those of an iteration's value. Values go from one iteration to the next
// between tasks, so local ops take and give distributed ones.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/localize/Localize.h"
#include "passes/shard/ops/Models.h"
#include "passes/shard/prepare/SegmentExpander.h"

using namespace mlir;
using namespace mlir::epl;

static DistType getDist(Value global, ShardingAttr sharding) {
  return DistType::get(global.getContext(), cast<RankedTensorType>(global.getType()), sharding);
}

static void localizeEdge(Operation *op, Localizer &localizer) {
  Value from = op->getOperand(0), to = op->getResult(0);
  OpBuilder &builder = localizer.builder;
  DistType source = getDist(from, getSharding(from));
  IRMapping edges;
  edges.map(from, FromLocalOp::create(builder, op->getLoc(), source, localizer.values.lookup(from)));
  Operation *edge = builder.clone(*op, edges);
  edge->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  edge->getResult(0).setType(getDist(to, getSharding(to)));
  localizer.values.map(to, ToLocalOp::create(builder, op->getLoc(), getLocalType(to), edge->getResult(0)));
}

/// Dimension 0 of a stack counts iterations.
static FactorRule getStackRule(Operation *op, bool slices) {
  FactorRule rule = getBlockedRule(op);
  SmallVector<int64_t> &stack = slices ? rule.operands[0] : rule.results[0];
  SmallVector<int64_t> &part = slices ? rule.results[0] : rule.operands[0];
  for (int64_t dim = 0; dim < static_cast<int64_t>(part.size()); ++dim)
    rule.link({{stack, dim + 1}, {part, dim}});
  return rule;
}

/// Of an iteration's value and the rows of a stack. Which row it is the iteration says.
static SmallVector<Steps> getStackSteps(Operation *op, bool slices) {
  MLIRContext *context = op->getContext();
  Value whole = slices ? op->getOperand(0) : op->getResult(0);
  Steps steps(op);
  SmallVector<AffineExpr> stack = steps.addLoops(context, cast<RankedTensorType>(whole.getType()).getShape());
  ArrayRef<AffineExpr> row = ArrayRef(stack).drop_front();
  steps.setOperand(0, slices ? ArrayRef(stack) : row, context);
  steps.setResult(0, slices ? row : ArrayRef(stack), context);
  return {steps};
}

/// The rows of dimension 0, one by one. Which one it is differs from iteration to iteration.
static SmallVector<Cut> getRows(Value stack) { return {{stack, 0, ShapedType::kDynamic, 1}}; }

namespace {
/// What all have in common.
template <typename Model, typename OpT> struct EdgeModel : ShardableOp::ExternalModel<Model, OpT> {
  bool localize(Operation *op, Localizer &localizer) const {
    localizeEdge(op, localizer);
    return true;
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
};

/// What is carried is no sum of what comes in: whether it is one is decided for all iterations together.
struct LoopCarryModel : EdgeModel<LoopCarryModel, LoopCarryOp> {
  FactorRule getFactorRule(Operation *op) const { return getPointwiseRule(op); }
  SmallVector<Steps> getSteps(Operation *op) const { return getPointwiseSteps(op); }
  bool expandSegments(Operation *op, SegmentExpander &expander) const { return expander.expandPointwise(op); }
};

struct LoopLastModel : EdgeModel<LoopLastModel, LoopLastOp> {
  FactorRule getFactorRule(Operation *op) const { return getPointwiseRule(op); }
  SmallVector<Steps> getSteps(Operation *op) const { return getPointwiseSteps(op); }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {operands[0]};
  }
  bool expandSegments(Operation *op, SegmentExpander &expander) const { return expander.expandPointwise(op); }
};

struct LoopSliceModel : EdgeModel<LoopSliceModel, LoopSliceOp> {
  FactorRule getFactorRule(Operation *op) const { return getStackRule(op, /*slices=*/true); }
  SmallVector<Steps> getSteps(Operation *op) const { return getStackSteps(op, /*slices=*/true); }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {operands[0]};
  }
  SmallVector<Cut> getCuts(Operation *op) const { return getRows(op->getOperand(0)); }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    Form part = expander.getForm(op->getResult(0)), stack = part;
    stack.insert(stack.begin(), DimForm());
    return expander.expandPointwise(op, stack, part);
  }
};

struct LoopStackModel : EdgeModel<LoopStackModel, LoopStackOp> {
  FactorRule getFactorRule(Operation *op) const { return getStackRule(op, /*slices=*/false); }
  SmallVector<Steps> getSteps(Operation *op) const { return getStackSteps(op, /*slices=*/false); }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {operands[0]};
  }
  SmallVector<Cut> getCuts(Operation *op) const { return getRows(op->getResult(0)); }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    Form stack = expander.getForm(op->getResult(0));
    return !stack[0].isTwo() && expander.expandPointwise(op, ArrayRef(stack).drop_front(), stack);
  }
};
} // namespace

void mlir::epl::registerLoopModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, EplDialect *) {
    LoopCarryOp::attachInterface<LoopCarryModel>(*context);
    LoopLastOp::attachInterface<LoopLastModel>(*context);
    LoopSliceOp::attachInterface<LoopSliceModel>(*context);
    LoopStackOp::attachInterface<LoopStackModel>(*context);
  });
}
