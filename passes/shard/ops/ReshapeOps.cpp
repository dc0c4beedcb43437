//===- ReshapeOps.cpp - What reshapes mean for sharding -------------------===//
//
// A collapsed dimension is laid out as the first of its group that is not 1, and the others within: that one
// is the same dimension, of another extent.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/localize/Localize.h"
#include "passes/shard/ops/Models.h"
#include "passes/shard/prepare/SegmentExpander.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

static Value getFine(tensor::ExpandShapeOp op) { return op.getResult(); }
static Value getFine(tensor::CollapseShapeOp op) { return op.getSrc(); }
static Value getCoarse(tensor::ExpandShapeOp op) { return op.getSrc(); }
static Value getCoarse(tensor::CollapseShapeOp op) { return op.getResult(); }

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// The dimensions of `shape`, in the form `form`, that the dimensions `group` of it become.
static SmallVector<int64_t> getGroup(ArrayRef<DimForm> form, const ReassociationIndices &group) {
  int64_t begin = getPosition(form, group.front()), end = getPosition(form, group.back() + 1);
  return llvm::to_vector(llvm::seq(begin, end));
}

/// For each dimension of the coarse side, in the form that `coarse` becomes, its dimensions of the fine side,
/// which has the shape `shape`. Segments of the coarse side that no dimension of the fine side begins with
/// are dropped from `coarse`.
static SmallVector<ReassociationIndices> regroup(ArrayRef<ReassociationIndices> groups,
                                                 ArrayRef<int64_t> shape, ArrayRef<DimForm> fine,
                                                 RankedTensorType whole, MutableArrayRef<DimForm> coarse) {
  SmallVector<ReassociationIndices> result;
  for (auto [dim, group] : llvm::enumerate(groups)) {
    SmallVector<int64_t> dims = group.empty() ? SmallVector<int64_t>() : getGroup(fine, group);
    int64_t outer = coarse[dim].isTwo() ? whole.getDimSize(dim) / coarse[dim].inner : 0, product = 1;
    size_t split = 0;
    while (outer != 0 && split < dims.size() && product < outer)
      product *= shape[dims[split++]];
    if (outer == 0 || product != outer || split == dims.size()) {
      coarse[dim] = {};
      result.emplace_back(dims.begin(), dims.end());
      continue;
    }
    result.emplace_back(dims.begin(), dims.begin() + split);
    result.emplace_back(dims.begin() + split, dims.end());
  }
  return result;
}

/// Whether parts of a dimension of the coarse side are those of the first one that it becomes on the fine
/// side, and no other dimension of that has parts: then reshaping keeps the order within shares.
static bool haveSameParts(ArrayRef<ReassociationIndices> groups, RankedTensorType fineType,
                          ArrayRef<DimForm> fine, ArrayRef<DimForm> coarse) {
  auto isInOrder = [&](const ReassociationIndices &group, DimForm whole) {
    const auto *major = llvm::find_if(group, [&](int64_t dim) { return fineType.getDimSize(dim) > 1; });
    int64_t minor = 1;
    for (const auto *dim = major; dim != group.end(); ++dim)
      minor *= dim == major ? 1 : fineType.getDimSize(*dim);
    for (int64_t dim : group)
      if (fine[dim].parts && (major == group.end() || dim != *major || !whole.parts))
        return false;
    return !whole.parts || (major != group.end() && multiply(fine[*major], minor) == whole);
  };
  return llvm::all_of(llvm::enumerate(groups),
                      [&](auto each) { return isInOrder(each.value(), coarse[each.index()]); });
}

/// `made` in the shape `type`, reshaped as `op` reshapes it if it has another one.
template <typename OpT>
static Value reshapeTo(OpBuilder &builder, OpT op, RankedTensorType type, Value made,
                       ArrayRef<ReassociationIndices> groups) {
  if (made.getType() == type)
    return made;
  auto reshape = OpT::create(builder, op.getLoc(), type, made, groups);
  reshape->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return reshape;
}

static bool expandReshape(tensor::ExpandShapeOp op, SegmentExpander &expander) {
  Form fine = expander.getForm(op.getResult()), coarse = expander.getForm(op.getSrc());
  if (!haveSameParts(op.getReassociationIndices(), op.getResultType(), fine, coarse))
    return false;
  auto type = expandSegments(op.getResultType(), fine);
  SmallVector<ReassociationIndices> groups =
      regroup(op.getReassociationIndices(), type.getShape(), fine, op.getSrcType(), coarse);
  expander.define(op.getResult(),
                  reshapeTo(expander.builder, op, type, expander.getAs(op.getSrc(), coarse, op), groups),
                  fine);
  return true;
}

static bool expandReshape(tensor::CollapseShapeOp op, SegmentExpander &expander) {
  Form fine = expander.getForm(op.getSrc()), coarse = expander.getForm(op.getResult());
  if (!haveSameParts(op.getReassociationIndices(), op.getSrcType(), fine, coarse))
    return false;
  Value made = expander.getAs(op.getSrc(), fine, op);
  SmallVector<ReassociationIndices> groups =
      regroup(op.getReassociationIndices(), getTensorType(made).getShape(), fine, op.getResultType(), coarse);
  auto type = expandSegments(op.getResultType(), coarse);
  expander.define(op.getResult(), reshapeTo(expander.builder, op, type, made, groups), coarse);
  return true;
}

//===----------------------------------------------------------------------===//
// The models
//===----------------------------------------------------------------------===//

namespace {
template <typename Model, typename OpT> struct ReshapeModel : ShardableOp::ExternalModel<Model, OpT> {
  static constexpr bool expands = std::is_same_v<OpT, tensor::ExpandShapeOp>;

  /// Where the dimension of the group is that the collapsed one is; its end if all are 1.
  static const int64_t *findMajor(OpT op, const ReassociationIndices &group) {
    return llvm::find_if(group, [&](int64_t dim) { return getTensorType(getFine(op)).getDimSize(dim) != 1; });
  }

  FactorRule getFactorRule(Operation *op) const {
    FactorRule rule = getBlockedRule(op);
    SmallVector<int64_t> &coarse = expands ? rule.operands[0] : rule.results[0];
    SmallVector<int64_t> &fine = expands ? rule.results[0] : rule.operands[0];
    auto reshape = cast<OpT>(op);
    for (auto [dim, group] : llvm::enumerate(reshape.getReassociationIndices()))
      if (const int64_t *major = findMajor(reshape, group); major != group.end())
        rule.link({{coarse, static_cast<int64_t>(dim)}, {fine, *major}});
    return rule;
  }

  /// Dimensions of a group are walked as the digits of the collapsed one.
  SmallVector<Steps> getSteps(Operation *op) const {
    MLIRContext *context = op->getContext();
    auto reshape = cast<OpT>(op);
    Steps steps(op);
    ArrayRef<int64_t> shape = getTensorType(getFine(reshape)).getShape();
    SmallVector<AffineExpr> fine = steps.addLoops(context, shape), coarse;
    for (const ReassociationIndices &group : reshape.getReassociationIndices()) {
      AffineExpr position = getAffineConstantExpr(0, context);
      for (int64_t dim : group)
        position = position * shape[dim] + fine[dim];
      coarse.push_back(position);
    }
    steps.setOperand(0, expands ? coarse : fine, context);
    steps.setResult(0, expands ? fine : coarse, context);
    return {steps};
  }

  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {operands[0]};
  }

  SmallVector<FoldedDim> getFoldedDims(Operation *op) const {
    auto reshape = cast<OpT>(op);
    SmallVector<FoldedDim> foldedDims;
    for (auto [dim, group] : llvm::enumerate(reshape.getReassociationIndices()))
      foldedDims.push_back({getCoarse(reshape), static_cast<int64_t>(dim), getFine(reshape),
                            SmallVector<int64_t>(ArrayRef(group))});
    return foldedDims;
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandReshape(cast<OpT>(op), expander);
  }
};

struct ExpandShapeModel : ReshapeModel<ExpandShapeModel, tensor::ExpandShapeOp> {
  /// The op says its result's extents.
  bool localize(Operation *op, Localizer &localizer) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    auto local = tensor::ExpandShapeOp::create(
        localizer.builder, op->getLoc(), getLocalType(expand.getResult()),
        localizer.values.lookup(expand.getSrc()), expand.getReassociationIndices());
    replaceByLocal(op, local, localizer);
    return true;
  }
};

struct CollapseShapeModel : ReshapeModel<CollapseShapeModel, tensor::CollapseShapeOp> {};
} // namespace

void mlir::epl::registerReshapeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ExpandShapeOp::attachInterface<ExpandShapeModel>(*context);
    tensor::CollapseShapeOp::attachInterface<CollapseShapeModel>(*context);
  });
}
