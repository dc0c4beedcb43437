//===- JoinOps.cpp - What paddings and concatenations mean for sharding ---===//
//
// Dimensions along which nothing is added are the same ones in operands and result.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/ops/Models.h"
#include "passes/shard/prepare/SegmentExpander.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// The form of a dimension that becomes `size` elements from `offset` on of one of `form`; nothing if it
/// covers a part in part. What is one segment becomes one of the outer dimension.
static std::optional<DimForm> getSourceForm(DimForm form, int64_t extent, int64_t offset, int64_t size) {
  if (form.parts)
    return getRangeForm(form, extent, offset, size);
  int64_t unit = std::max<int64_t>(form.inner, 1);
  return offset % unit == 0 && size % unit == 0 ? std::optional(form) : std::nullopt;
}

static bool expandPad(tensor::PadOp op, SegmentExpander &expander) {
  Form form = expander.getForm(op.getResult()), sourceForm;
  RankedTensorType type = getTensorType(op.getResult());
  if (!op.getConstantPaddingValue() || !op.getLow().empty() || !op.getHigh().empty())
    return false;
  SmallVector<int64_t> low, high;
  for (auto [index, dim] : llvm::enumerate(form)) {
    int64_t below = op.getStaticLow()[index], above = op.getStaticHigh()[index];
    int64_t extent = type.getDimSize(index);
    std::optional<DimForm> source = getSourceForm(dim, extent, below, extent - below - above);
    if (!source)
      return false;
    sourceForm.push_back(*source);
    auto add = [&](SmallVector<int64_t> &padding, int64_t size) {
      if (dim.parts)
        padding.append({0, size / (extent / dim.inner)});
      else if (dim.isTwo())
        padding.append({size / dim.inner, 0});
      else
        padding.push_back(size);
    };
    add(low, below);
    add(high, above);
  }
  Value source = expander.getAs(op.getSource(), sourceForm, op);
  auto made = tensor::PadOp::create(expander.builder, op.getLoc(), expandSegments(type, form), source, low,
                                    high, ValueRange(), ValueRange(), op.getNofold());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  made.getRegion().takeBody(op.getRegion());
  for (size_t index = made.getRegion().getNumArguments(); index < low.size(); ++index)
    made.getRegion().addArgument(expander.builder.getIndexType(), op.getLoc());
  expander.define(op.getResult(), made, form);
  return true;
}

static bool expandConcatenate(ConcatenateOp op, SegmentExpander &expander) {
  Form form = expander.getForm(op.getResult());
  RankedTensorType type = getTensorType(op.getResult());
  int64_t dim = op.getDim(), offset = 0;
  SmallVector<Form> forms;
  for (Value operand : op.getOperands()) {
    int64_t size = getTensorType(operand).getDimSize(dim);
    std::optional<DimForm> own = getSourceForm(form[dim], type.getDimSize(dim), offset, size);
    if (!own)
      return false;
    forms.push_back(form);
    forms.back()[dim] = *own;
    offset += size;
  }
  SmallVector<Value> operands;
  for (auto [operand, own] : llvm::zip_equal(op.getOperands(), forms))
    operands.push_back(expander.getAs(operand, own, op));
  auto made = ConcatenateOp::create(expander.builder, op.getLoc(), expandSegments(type, form), operands,
                                    getPosition(form, dim) + (form[dim].parts ? 1 : 0));
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expander.define(op.getResult(), made, form);
  return true;
}

//===----------------------------------------------------------------------===//
// The models
//===----------------------------------------------------------------------===//

namespace {
struct PadModel : ShardableOp::ExternalModel<PadModel, tensor::PadOp> {
  /// What depends on the position is padded by the whole tensor's.
  FactorRule getFactorRule(Operation *op) const {
    auto pad = cast<tensor::PadOp>(op);
    FactorRule rule = getBlockedRule(op);
    if (!pad.getConstantPaddingValue())
      return rule;
    for (int64_t dim = 0; dim < pad.getSourceType().getRank(); ++dim)
      if (pad.getStaticLow()[dim] == 0 && pad.getStaticHigh()[dim] == 0)
        rule.link({{rule.operands[0], dim}, {rule.results[0], dim}});
    return rule;
  }
  /// What is padded is made of nothing.
  SmallVector<Steps> getSteps(Operation *op) const {
    auto pad = cast<tensor::PadOp>(op);
    MLIRContext *context = op->getContext();
    Steps steps(op);
    SmallVector<AffineExpr> source = steps.addLoops(context, pad.getSourceType().getShape()), padded;
    for (auto [dim, low] : llvm::enumerate(pad.getStaticLow()))
      padded.push_back(ShapedType::isDynamic(low)
                           ? steps.addLoop(context, pad.getResultType().getDimSize(dim))
                           : source[dim] + low);
    steps.setOperand(0, source, context);
    steps.setResult(0, padded, context);
    return {steps};
  }
  SmallVector<Status> getStatuses(Operation *op, ArrayRef<Status> operands,
                                  function_ref<Status(Value)> getCaptured) const {
    Value padding = cast<tensor::PadOp>(op).getConstantPaddingValue();
    return {padding ? join(operands[0], getCaptured(padding)) : evaluateOpaque(operands)};
  }
  SmallVector<Cut> getCuts(Operation *op) const {
    auto pad = cast<tensor::PadOp>(op);
    SmallVector<Cut> cuts;
    for (int64_t dim = 0; dim < pad.getSourceType().getRank() && pad.getConstantPaddingValue(); ++dim)
      cuts.push_back({pad.getResult(), dim, pad.getStaticLow()[dim], pad.getSourceType().getDimSize(dim),
                      /*stride=*/1, pad.getSource(), dim});
    return cuts;
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandPad(cast<tensor::PadOp>(op), expander);
  }
  Value getPadded(Operation *op) const { return cast<tensor::PadOp>(op).getSource(); }
};

struct ConcatenateModel : ShardableOp::ExternalModel<ConcatenateModel, ConcatenateOp> {
  FactorRule getFactorRule(Operation *op) const {
    return getPointwiseRule(op, cast<ConcatenateOp>(op).getDim());
  }
  /// Those of each operand by themselves.
  SmallVector<Steps> getSteps(Operation *op) const {
    MLIRContext *context = op->getContext();
    int64_t offset = 0, dim = cast<ConcatenateOp>(op).getDim();
    SmallVector<Steps> all;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Steps steps(op);
      SmallVector<AffineExpr> position = steps.addLoops(context, getTensorType(operand).getShape());
      steps.setOperand(index, position, context);
      position[dim] = position[dim] + offset;
      steps.setResult(0, position, context);
      offset += getTensorType(operand).getDimSize(dim);
      all.push_back(steps);
    }
    return all;
  }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {joinAll(operands)};
  }
  SmallVector<Cut> getCuts(Operation *op) const {
    auto concatenate = cast<ConcatenateOp>(op);
    int64_t offset = 0, dim = concatenate.getDim();
    SmallVector<Cut> cuts;
    for (Value operand : concatenate.getOperands()) {
      int64_t size = getTensorType(operand).getDimSize(dim);
      cuts.push_back(
          {concatenate.getResult(), dim, offset, size, /*stride=*/1, operand, dim, /*joins=*/true});
      offset += size;
    }
    return cuts;
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandConcatenate(cast<ConcatenateOp>(op), expander);
  }
};
} // namespace

void mlir::epl::registerJoinModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::PadOp::attachInterface<PadModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, EplDialect *) {
    ConcatenateOp::attachInterface<ConcatenateModel>(*context);
  });
}
