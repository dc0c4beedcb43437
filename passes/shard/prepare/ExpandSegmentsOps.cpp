//===- ExpandSegmentsOps.cpp - The expanded form of each op ---------------===//
//
// Each function builds the op on tensors whose segments are dimensions, before the old one, or does nothing
// and says so.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/prepare/SegmentExpander.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

static RankedTensorType getType(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// Calls visit(value, map) for each operand and each result.
static void forEachAccess(linalg::GenericOp op, function_ref<void(Value, AffineMap)> visit) {
  for (OpOperand &operand : op->getOpOperands())
    visit(operand.get(), op.getMatchingIndexingMap(&operand));
  for (OpOperand &init : op.getDpsInitsMutable())
    visit(op.getTiedOpResult(&init), op.getMatchingIndexingMap(&init));
}

/// For each loop the extent of the segments that it runs along, or 0; nothing if one runs along them in other
/// ways than from the first element to the last.
static std::optional<Form> getLoopForm(linalg::GenericOp op, const Segments &segments) {
  Form loops(op.getNumLoops());
  bool fits = true;
  forEachAccess(op, [&](Value value, AffineMap map) {
    for (auto [dim, expr] : llvm::zip(segments.getForm(value), map.getResults())) {
      if (!dim.isTwo())
        continue;
      auto loop = dyn_cast<AffineDimExpr>(expr);
      fits &= loop && (!loops[loop.getPosition()].isTwo() || loops[loop.getPosition()] == dim);
      if (loop)
        loops[loop.getPosition()] = dim;
    }
  });
  forEachAccess(op, [&](Value, AffineMap map) {
    for (AffineExpr expr : map.getResults())
      for (unsigned loop = 0; loop < loops.size(); ++loop)
        fits &= isa<AffineDimExpr>(expr) || !loops[loop].isTwo() || !expr.isFunctionOfDim(loop);
  });
  for (auto index : op.getBody()->getOps<linalg::IndexOp>())
    fits &= !loops[index.getDim()].parts; // positions in shares are not those in the whole
  return fits ? std::optional(loops) : std::nullopt;
}

/// The form of a tensor that is read or written through `map`.
static Form getAccessForm(AffineMap map, ArrayRef<DimForm> loops) {
  return llvm::map_to_vector<6>(map.getResults(), [&](AffineExpr expr) -> DimForm {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    return loop ? loops[loop.getPosition()] : DimForm();
  });
}

static AffineMap expandMap(AffineMap map, ArrayRef<DimForm> loops) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> renamed, results;
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    renamed.push_back(getAffineDimExpr(getPosition(loops, loop), context));
  for (AffineExpr expr : map.getResults()) {
    results.push_back(expr.replaceDims(renamed));
    if (auto loop = dyn_cast<AffineDimExpr>(expr); loop && loops[loop.getPosition()].isTwo())
      results.push_back(getAffineDimExpr(getPosition(loops, loop.getPosition()) + 1, context));
  }
  return AffineMap::get(getPosition(loops, loops.size()), 0, results, context);
}

/// The position along a loop of old is the segment's, and the one within.
static void expandIndices(linalg::GenericOp op, ArrayRef<DimForm> loops) {
  for (auto index : llvm::to_vector(op.getBody()->getOps<linalg::IndexOp>())) {
    int64_t width = loops[index.getDim()].inner, position = getPosition(loops, index.getDim());
    index.setDim(position);
    if (width == 0)
      continue;
    OpBuilder at(op.getContext());
    at.setInsertionPointAfter(index);
    Value extent = arith::ConstantIndexOp::create(at, index.getLoc(), width);
    auto begin = arith::MulIOp::create(at, index.getLoc(), index, extent);
    Value within = linalg::IndexOp::create(at, index.getLoc(), position + 1);
    Value sum = arith::AddIOp::create(at, index.getLoc(), begin, within);
    index.getResult().replaceAllUsesExcept(sum, begin);
  }
}

bool SegmentExpander::expandGeneric(linalg::GenericOp op) {
  std::optional<Form> loops = getLoopForm(op, segments);
  if (!loops)
    return false;
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> iterators;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    Value value = getAs(operand.get(), getAccessForm(map, *loops), op);
    (op.isDpsInit(&operand) ? inits : inputs).push_back(value);
    maps.push_back(expandMap(map, *loops));
  }
  for (auto [kind, loop] : llvm::zip_equal(op.getIteratorTypesArray(), *loops))
    iterators.append(loop.isTwo() ? 2 : 1, kind);
  auto made = linalg::GenericOp::create(builder, op.getLoc(), TypeRange(ValueRange(inits)), inputs, inits,
                                        maps, iterators);
  made.getRegion().takeBody(op.getRegion());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expandIndices(made, *loops);
  for (auto [init, result] : llvm::zip_equal(op.getDpsInitsMutable(), made.getResults()))
    define(op.getTiedOpResult(&init), result, getAccessForm(op.getMatchingIndexingMap(&init), *loops));
  return true;
}

//===----------------------------------------------------------------------===//
// Slices
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

bool SegmentExpander::expandExtractSlice(tensor::ExtractSliceOp op) {
  Form form = getForm(op.getSource());
  std::optional<SegmentSlice> slice = sliceSegments(op, op.getSourceType(), form, op.getDroppedDims());
  if (!slice)
    return false;
  auto type = RankedTensorType::get(slice->shape, op.getType().getElementType());
  auto made = tensor::ExtractSliceOp::create(builder, op.getLoc(), type, getAs(op.getSource(), form, op),
                                             slice->offsets, slice->sizes, slice->strides);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, slice->form);
  return true;
}

bool SegmentExpander::expandInsertSlice(tensor::InsertSliceOp op) {
  Form form = getForm(op.getResult());
  std::optional<SegmentSlice> slice = sliceSegments(op, op.getType(), form, op.getDroppedDims());
  if (!slice)
    return false;
  Value source = getAs(op.getSource(), slice->form, op), dest = getAs(op.getDest(), form, op);
  auto made = tensor::InsertSliceOp::create(builder, op.getLoc(), source, dest, slice->offsets, slice->sizes,
                                            slice->strides);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, form);
  return true;
}

/// The form of a dimension that becomes `size` elements from `offset` on of one of `form`; nothing if it
/// covers a part in part. What is one segment becomes one of the outer dimension.
static std::optional<DimForm> getSourceForm(DimForm form, int64_t extent, int64_t offset, int64_t size) {
  if (form.parts)
    return getRangeForm(form, extent, offset, size);
  int64_t unit = std::max<int64_t>(form.inner, 1);
  return offset % unit == 0 && size % unit == 0 ? std::optional(form) : std::nullopt;
}

bool SegmentExpander::expandPad(tensor::PadOp op) {
  Form form = getForm(op.getResult()), sourceForm;
  RankedTensorType type = getType(op.getResult());
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
  Value source = getAs(op.getSource(), sourceForm, op);
  auto made = tensor::PadOp::create(builder, op.getLoc(), expandSegments(type, form), source, low, high,
                                    ValueRange(), ValueRange(), op.getNofold());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  made.getRegion().takeBody(op.getRegion());
  for (size_t index = made.getRegion().getNumArguments(); index < low.size(); ++index)
    made.getRegion().addArgument(builder.getIndexType(), op.getLoc());
  define(op.getResult(), made, form);
  return true;
}

bool SegmentExpander::expandConcatenate(ConcatenateOp op) {
  Form form = getForm(op.getResult());
  RankedTensorType type = getType(op.getResult());
  int64_t dim = op.getDim(), offset = 0;
  SmallVector<Form> forms;
  for (Value operand : op.getOperands()) {
    int64_t size = getType(operand).getDimSize(dim);
    std::optional<DimForm> own = getSourceForm(form[dim], type.getDimSize(dim), offset, size);
    if (!own)
      return false;
    forms.push_back(form);
    forms.back()[dim] = *own;
    offset += size;
  }
  SmallVector<Value> operands;
  for (auto [operand, own] : llvm::zip_equal(op.getOperands(), forms))
    operands.push_back(getAs(operand, own, op));
  auto made = ConcatenateOp::create(builder, op.getLoc(), expandSegments(type, form), operands,
                                    getPosition(form, dim) + (form[dim].parts ? 1 : 0));
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, form);
  return true;
}

//===----------------------------------------------------------------------===//
// Reshapes
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

bool SegmentExpander::expandShape(tensor::ExpandShapeOp op) {
  Form fine = getForm(op.getResult()), coarse = getForm(op.getSrc());
  if (!haveSameParts(op.getReassociationIndices(), op.getResultType(), fine, coarse))
    return false;
  auto type = expandSegments(op.getResultType(), fine);
  SmallVector<ReassociationIndices> groups =
      regroup(op.getReassociationIndices(), type.getShape(), fine, op.getSrcType(), coarse);
  define(op.getResult(), reshapeTo(builder, op, type, getAs(op.getSrc(), coarse, op), groups), fine);
  return true;
}

bool SegmentExpander::collapseShape(tensor::CollapseShapeOp op) {
  Form fine = getForm(op.getSrc()), coarse = getForm(op.getResult());
  if (!haveSameParts(op.getReassociationIndices(), op.getSrcType(), fine, coarse))
    return false;
  Value made = getAs(op.getSrc(), fine, op);
  SmallVector<ReassociationIndices> groups =
      regroup(op.getReassociationIndices(), getType(made).getShape(), fine, op.getResultType(), coarse);
  auto type = expandSegments(op.getResultType(), coarse);
  define(op.getResult(), reshapeTo(builder, op, type, made, groups), coarse);
  return true;
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

bool SegmentExpander::expandConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  Form form = getForm(op);
  if (!elements || llvm::any_of(form, [](DimForm dim) { return dim.parts != nullptr; }))
    return false;
  auto made =
      arith::ConstantOp::create(builder, op.getLoc(), elements.reshape(expandSegments(getType(op), form)));
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op, made, form);
  return true;
}

bool SegmentExpander::expandReshard(ReshardOp op) {
  Form form = getForm(op.getResult());
  ShardingAttr sharding = expandSegments(op.getSharding(), mesh, getType(op.getResult()), form);
  if (!sharding)
    return false;
  auto made = ReshardOp::create(builder, op.getLoc(), expandSegments(getType(op.getResult()), form),
                                getAs(op.getOperand(), form, op), sharding);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, form);
  return true;
}

/// Who says how a whole is split says how each of its segments is.
bool SegmentExpander::expandConstrain(ConstrainOp op) {
  Form form = getForm(op.getResult());
  ConstraintAttr said = op.getConstraint();
  SmallVector<SmallVector<StringRef>> axes =
      llvm::map_to_vector(llvm::seq(said.getRank()), [&](int64_t dim) { return said.getDimAxes(dim); });
  auto dims = expandSegments(axes, mesh, getType(op.getResult()), form);
  if (!dims)
    return false;
  auto constraint = ConstraintAttr::get(op.getContext(), *dims, said.getWholeAxes());
  auto made = ConstrainOp::create(builder, op.getLoc(), expandSegments(getType(op.getResult()), form),
                                  getAs(op.getOperand(), form, op), constraint);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, form);
  return true;
}

/// The same op on other shapes.
bool SegmentExpander::expandPointwise(Operation *op, ArrayRef<DimForm> operandForm,
                                      ArrayRef<DimForm> resultForm) {
  IRMapping mapping;
  mapping.map(op->getOperand(0), getAs(op->getOperand(0), operandForm, op));
  Operation *made = builder.clone(*op, mapping);
  made->getResult(0).setType(expandSegments(getType(op->getResult(0)), resultForm));
  define(op->getResult(0), made->getResult(0), resultForm);
  return true;
}

/// Dimension 0 of a stack counts iterations.
bool SegmentExpander::expandStack(Operation *op) {
  Form form = getForm(op->getResult(0));
  if (isa<LoopStackOp>(op))
    return !form[0].isTwo() && expandPointwise(op, ArrayRef(form).drop_front(), form);
  Form stack = form;
  stack.insert(stack.begin(), DimForm());
  return expandPointwise(op, stack, form);
}

bool SegmentExpander::expand(Operation *op) {
  auto isOneShape = [&] {
    return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
           isa<RankedTensorType>(op->getOperand(0).getType()) &&
           isa<RankedTensorType>(op->getResult(0).getType()) &&
           getType(op->getOperand(0)).getShape() == getType(op->getResult(0)).getShape();
  };
  auto expandEach = [&](Operation *each) {
    Form form = getForm(each->getResult(0));
    return expandPointwise(each, form, form);
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](linalg::GenericOp generic) { return expandGeneric(generic); })
      .Case([&](tensor::ExtractSliceOp slice) { return expandExtractSlice(slice); })
      .Case([&](tensor::InsertSliceOp slice) { return expandInsertSlice(slice); })
      .Case([&](tensor::PadOp pad) { return expandPad(pad); })
      .Case([&](ConcatenateOp concatenate) { return expandConcatenate(concatenate); })
      .Case([&](tensor::ExpandShapeOp reshape) { return expandShape(reshape); })
      .Case([&](tensor::CollapseShapeOp reshape) { return collapseShape(reshape); })
      .Case([&](arith::ConstantOp constant) { return expandConstant(constant); })
      .Case([&](ReshardOp reshard) { return expandReshard(reshard); })
      .Case([&](ConstrainOp constrain) { return expandConstrain(constrain); })
      .Case<LoopCarryOp, LoopLastOp>(expandEach)
      .Case<LoopSliceOp, LoopStackOp>([&](auto edge) { return expandStack(edge); })
      .Case<tensor::BitcastOp, UnrealizedConversionCastOp>(
          [&](auto cast) { return isOneShape() && expandEach(cast); })
      .Default(false);
}
