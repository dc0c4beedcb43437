//===- SliceOps.cpp - What slices mean for sharding -----------------------===//
//
// A dimension that a slice takes whole is the same one in the slice. Where it takes a range, the dimension
// stays replicated, unless its segments are dimensions of their own.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/Enlarging.h"
#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/localize/Localize.h"
#include "passes/shard/ops/Models.h"
#include "passes/shard/prepare/SegmentExpander.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

namespace {
/// Where a slice lies in a tensor with segments, and the form of the slice.
struct SegmentSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  SmallVector<int64_t> shape; ///< of the slice
  Form form;                  ///< of the slice

  void add(Builder &builder, int64_t offset, int64_t size, int64_t stride) {
    offsets.push_back(builder.getIndexAttr(offset));
    sizes.push_back(builder.getIndexAttr(size));
    strides.push_back(builder.getIndexAttr(stride));
  }
  bool addSegments(Builder &builder, DimForm dim, int64_t offset, int64_t size);
  bool addParts(Builder &builder, DimForm dim, int64_t extent, int64_t offset, int64_t size);
};
} // namespace

/// Of one segment only the inner dimension is left. False if the slice takes parts of segments.
bool SegmentSlice::addSegments(Builder &builder, DimForm dim, int64_t offset, int64_t size) {
  if (offset % dim.inner != 0 || size % dim.inner != 0)
    return false;
  add(builder, offset / dim.inner, size / dim.inner, 1);
  add(builder, 0, dim.inner, 1);
  if (size != dim.inner)
    shape.push_back(size / dim.inner);
  shape.push_back(dim.inner);
  form.push_back(size == dim.inner ? DimForm() : dim);
  return true;
}

/// False if the slice cuts across a part.
bool SegmentSlice::addParts(Builder &builder, DimForm dim, int64_t extent, int64_t offset, int64_t size) {
  std::optional<DimForm> range = getRangeForm(dim, extent, offset, size);
  if (!range)
    return false;
  int64_t shares = extent / dim.inner;
  add(builder, 0, shares, 1);
  add(builder, offset / shares, range->inner, 1);
  shape.append({shares, range->inner});
  form.push_back(*range);
  return true;
}

/// Nothing if the slice cuts across a segment or a part.
static std::optional<SegmentSlice> sliceSegments(OffsetSizeAndStrideOpInterface op, RankedTensorType whole,
                                                 ArrayRef<DimForm> form,
                                                 const llvm::SmallBitVector &dropped) {
  Builder builder(op.getContext());
  SegmentSlice slice;
  for (auto [index, dim] : llvm::enumerate(form)) {
    if (op.isDynamicOffset(index) || op.isDynamicSize(index) || op.isDynamicStride(index))
      return std::nullopt;
    int64_t offset = op.getStaticOffset(index), size = op.getStaticSize(index);
    int64_t stride = op.getStaticStride(index);
    if (!dim.isTwo()) {
      slice.add(builder, offset, size, stride);
      if (!dropped.test(index)) {
        slice.shape.push_back(size);
        slice.form.push_back({});
      }
      continue;
    }
    if (stride != 1 || !(dim.parts ? slice.addParts(builder, dim, whole.getDimSize(index), offset, size)
                                   : slice.addSegments(builder, dim, offset, size)))
      return std::nullopt;
  }
  return slice;
}

static bool expandSlice(tensor::ExtractSliceOp op, SegmentExpander &expander) {
  Form form = expander.getForm(op.getSource());
  std::optional<SegmentSlice> slice = sliceSegments(op, op.getSourceType(), form, op.getDroppedDims());
  if (!slice)
    return false;
  auto type = RankedTensorType::get(slice->shape, op.getType().getElementType());
  auto made = tensor::ExtractSliceOp::create(expander.builder, op.getLoc(), type,
                                             expander.getAs(op.getSource(), form, op), slice->offsets,
                                             slice->sizes, slice->strides);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expander.define(op.getResult(), made, slice->form);
  return true;
}

static bool expandSlice(tensor::InsertSliceOp op, SegmentExpander &expander) {
  Form form = expander.getForm(op.getResult());
  std::optional<SegmentSlice> slice = sliceSegments(op, op.getType(), form, op.getDroppedDims());
  if (!slice)
    return false;
  Value source = expander.getAs(op.getSource(), slice->form, op),
        dest = expander.getAs(op.getDest(), form, op);
  auto made = tensor::InsertSliceOp::create(expander.builder, op.getLoc(), source, dest, slice->offsets,
                                            slice->sizes, slice->strides);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expander.define(op.getResult(), made, form);
  return true;
}

//===----------------------------------------------------------------------===//
// Local ops
//===----------------------------------------------------------------------===//

/// The sizes of a slice of `global`, for `local`: a dimension that is taken whole is whole on every rank too.
static SmallVector<int64_t> getLocalSizes(ArrayRef<int64_t> sizes, RankedTensorType global,
                                          RankedTensorType local) {
  SmallVector<int64_t> result(sizes);
  for (auto [size, whole, part] : llvm::zip(result, global.getShape(), local.getShape()))
    if (size == whole)
      size = part;
  return result;
}

//===----------------------------------------------------------------------===//
// The models
//===----------------------------------------------------------------------===//

/// The ranges that a slice takes of `whole`, or replaces in it.
static SmallVector<Cut> getSliceCuts(OffsetSizeAndStrideOpInterface slice, Value whole, Value part,
                                     const llvm::SmallBitVector &dropped) {
  SmallVector<Cut> cuts;
  int64_t partDim = 0;
  for (unsigned dim = 0; dim < dropped.size(); ++dim)
    cuts.push_back({whole, dim, slice.getStaticOffsets()[dim], slice.getStaticSizes()[dim],
                    slice.getStaticStrides()[dim], part, dropped.test(dim) ? -1 : partDim++});
  return cuts;
}

/// Where the element of the part at `position` lies in the whole. Somewhere, if that is not known.
static SmallVector<AffineExpr> getWholePosition(OffsetSizeAndStrideOpInterface slice, RankedTensorType whole,
                                                const llvm::SmallBitVector &dropped,
                                                ArrayRef<AffineExpr> position, Steps &steps) {
  MLIRContext *context = slice->getContext();
  SmallVector<AffineExpr> found;
  for (unsigned dim = 0; dim < dropped.size(); ++dim) {
    AffineExpr within = getAffineConstantExpr(0, context);
    if (!dropped.test(dim)) {
      within = position.front();
      position = position.drop_front();
    }
    bool isKnown = !slice.isDynamicOffset(dim) && !slice.isDynamicStride(dim);
    found.push_back(isKnown ? within * slice.getStaticStride(dim) + slice.getStaticOffset(dim)
                            : steps.addLoop(context, whole.getDimSize(dim)));
  }
  return found;
}

namespace {
struct ExtractSliceModel : ShardableOp::ExternalModel<ExtractSliceModel, tensor::ExtractSliceOp> {
  FactorRule getFactorRule(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    FactorRule rule = getBlockedRule(op);
    rule.linkSlice(slice.getStaticSizes(), slice.getStaticStrides(), slice.getSourceType(),
                   slice.getDroppedDims(), {&rule.operands[0]}, rule.results[0]);
    return rule;
  }
  SmallVector<Steps> getSteps(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    Steps steps(op);
    SmallVector<AffineExpr> part = steps.addLoops(op->getContext(), slice.getType().getShape());
    SmallVector<AffineExpr> whole =
        getWholePosition(slice, slice.getSourceType(), slice.getDroppedDims(), part, steps);
    steps.setOperand(0, whole, op->getContext());
    steps.setResult(0, part, op->getContext());
    return {steps};
  }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {operands[0]};
  }
  bool localize(Operation *op, Localizer &localizer) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    cast<tensor::ExtractSliceOp>(localizer.cloneLocal(op))
        .setStaticSizes(
            getLocalSizes(slice.getStaticSizes(), slice.getSourceType(), getLocalType(slice.getSource())));
    return true;
  }
  SmallVector<Cut> getCuts(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    return getSliceCuts(slice, slice.getSource(), slice.getResult(), slice.getDroppedDims());
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandSlice(cast<tensor::ExtractSliceOp>(op), expander);
  }
};

struct InsertSliceModel : ShardableOp::ExternalModel<InsertSliceModel, tensor::InsertSliceOp> {
  FactorRule getFactorRule(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    FactorRule rule = getBlockedRule(op);
    rule.linkSlice(slice.getStaticSizes(), slice.getStaticStrides(), slice.getDestType(),
                   slice.getDroppedDims(), {&rule.operands[1], &rule.results[0]}, rule.operands[0]);
    return rule;
  }
  /// What is overwritten counts as read.
  SmallVector<Steps> getSteps(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    MLIRContext *context = op->getContext();
    Steps inserted(op), kept(op);
    SmallVector<AffineExpr> part = inserted.addLoops(context, slice.getSourceType().getShape());
    SmallVector<AffineExpr> whole =
        getWholePosition(slice, slice.getDestType(), slice.getDroppedDims(), part, inserted);
    inserted.setOperand(0, part, context);
    inserted.setResult(0, whole, context);
    SmallVector<AffineExpr> same = kept.addLoops(context, slice.getDestType().getShape());
    kept.setOperand(1, same, context);
    kept.setResult(0, same, context);
    return {inserted, kept};
  }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {join(operands[0], operands[1])};
  }
  bool localize(Operation *op, Localizer &localizer) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    cast<tensor::InsertSliceOp>(localizer.cloneLocal(op))
        .setStaticSizes(
            getLocalSizes(slice.getStaticSizes(), slice.getDestType(), getLocalType(slice.getDest())));
    return true;
  }
  SmallVector<Cut> getCuts(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    return getSliceCuts(slice, slice.getResult(), slice.getSource(), slice.getDroppedDims());
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandSlice(cast<tensor::InsertSliceOp>(op), expander);
  }
  Value getPadded(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    return isMadeOfConstants(slice.getDest()) ? slice.getSource() : Value();
  }
};
} // namespace

void mlir::epl::registerSliceModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
    tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
  });
}
