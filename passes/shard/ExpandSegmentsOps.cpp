//===- ExpandSegmentsOps.cpp - The expanded form of each op ---------------===//
//
// Each function builds the op on tensors whose segments are dimensions, before the old one, or does nothing
// and says so.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/SegmentExpander.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

/// The dimension that dimension `dim` begins as in the form `widths`.
static int64_t getPosition(ArrayRef<int64_t> widths, int64_t dim) {
  return dim + llvm::count_if(widths.take_front(dim), [](int64_t width) { return width != 0; });
}

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
static std::optional<Widths> getLoopWidths(linalg::GenericOp op, const Segments &segments) {
  Widths loops(op.getNumLoops(), 0);
  bool fits = true;
  forEachAccess(op, [&](Value value, AffineMap map) {
    for (auto [width, expr] : llvm::zip(segments.getWidths(value), map.getResults())) {
      if (width == 0)
        continue;
      auto loop = dyn_cast<AffineDimExpr>(expr);
      fits &= loop && (loops[loop.getPosition()] == 0 || loops[loop.getPosition()] == width);
      if (loop)
        loops[loop.getPosition()] = width;
    }
  });
  forEachAccess(op, [&](Value, AffineMap map) {
    for (AffineExpr expr : map.getResults())
      for (unsigned loop = 0; loop < loops.size(); ++loop)
        fits &= isa<AffineDimExpr>(expr) || loops[loop] == 0 || !expr.isFunctionOfDim(loop);
  });
  return fits ? std::optional(loops) : std::nullopt;
}

/// The form of a tensor that is read or written through `map`.
static Widths getAccessWidths(AffineMap map, ArrayRef<int64_t> loops) {
  return llvm::map_to_vector<6>(map.getResults(), [&](AffineExpr expr) -> int64_t {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    return loop ? loops[loop.getPosition()] : 0;
  });
}

static AffineMap expandMap(AffineMap map, ArrayRef<int64_t> loops) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> renamed, results;
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    renamed.push_back(getAffineDimExpr(getPosition(loops, loop), context));
  for (AffineExpr expr : map.getResults()) {
    results.push_back(expr.replaceDims(renamed));
    if (auto loop = dyn_cast<AffineDimExpr>(expr); loop && loops[loop.getPosition()] != 0)
      results.push_back(getAffineDimExpr(getPosition(loops, loop.getPosition()) + 1, context));
  }
  return AffineMap::get(getPosition(loops, loops.size()), 0, results, context);
}

/// The position along a loop of old is the segment's, and the one within.
static void expandIndices(linalg::GenericOp op, ArrayRef<int64_t> loops) {
  for (auto index : llvm::to_vector(op.getBody()->getOps<linalg::IndexOp>())) {
    int64_t width = loops[index.getDim()], position = getPosition(loops, index.getDim());
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
  std::optional<Widths> loops = getLoopWidths(op, segments);
  if (!loops)
    return false;
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> iterators;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    Value value = getAs(operand.get(), getAccessWidths(map, *loops), op);
    (op.isDpsInit(&operand) ? inits : inputs).push_back(value);
    maps.push_back(expandMap(map, *loops));
  }
  for (auto [kind, width] : llvm::zip_equal(op.getIteratorTypesArray(), *loops))
    iterators.append(width == 0 ? 1 : 2, kind);
  auto made = linalg::GenericOp::create(builder, op.getLoc(), TypeRange(ValueRange(inits)), inputs, inits,
                                        maps, iterators);
  made.getRegion().takeBody(op.getRegion());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expandIndices(made, *loops);
  for (auto [init, result] : llvm::zip_equal(op.getDpsInitsMutable(), made.getResults()))
    define(op.getTiedOpResult(&init), result, getAccessWidths(op.getMatchingIndexingMap(&init), *loops));
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
  Widths widths;              ///< of the slice

  void add(Builder &builder, int64_t offset, int64_t size, int64_t stride) {
    offsets.push_back(builder.getIndexAttr(offset));
    sizes.push_back(builder.getIndexAttr(size));
    strides.push_back(builder.getIndexAttr(stride));
  }
};
} // namespace

/// Nothing if the slice takes parts of segments. Of one segment only the inner dimension is left.
static std::optional<SegmentSlice> sliceSegments(OffsetSizeAndStrideOpInterface op, ArrayRef<int64_t> widths,
                                                 const llvm::SmallBitVector &dropped) {
  Builder builder(op.getContext());
  SegmentSlice slice;
  for (auto [dim, width] : llvm::enumerate(widths)) {
    if (op.isDynamicOffset(dim) || op.isDynamicSize(dim) || op.isDynamicStride(dim))
      return std::nullopt;
    int64_t offset = op.getStaticOffset(dim), size = op.getStaticSize(dim), stride = op.getStaticStride(dim);
    if (width == 0) {
      slice.add(builder, offset, size, stride);
      if (!dropped.test(dim)) {
        slice.shape.push_back(size);
        slice.widths.push_back(0);
      }
      continue;
    }
    if (stride != 1 || offset % width != 0 || size % width != 0)
      return std::nullopt;
    slice.add(builder, offset / width, size / width, 1);
    slice.add(builder, 0, width, 1);
    if (size != width)
      slice.shape.push_back(size / width);
    slice.shape.push_back(width);
    slice.widths.push_back(size == width ? 0 : width);
  }
  return slice;
}

bool SegmentExpander::expandExtractSlice(tensor::ExtractSliceOp op) {
  Widths widths = getWidths(op.getSource());
  std::optional<SegmentSlice> slice = sliceSegments(op, widths, op.getDroppedDims());
  if (!slice)
    return false;
  auto type = RankedTensorType::get(slice->shape, op.getType().getElementType());
  auto made = tensor::ExtractSliceOp::create(builder, op.getLoc(), type, getAs(op.getSource(), widths, op),
                                             slice->offsets, slice->sizes, slice->strides);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, slice->widths);
  return true;
}

bool SegmentExpander::expandInsertSlice(tensor::InsertSliceOp op) {
  Widths widths = getWidths(op.getResult());
  std::optional<SegmentSlice> slice = sliceSegments(op, widths, op.getDroppedDims());
  if (!slice)
    return false;
  Value source = getAs(op.getSource(), slice->widths, op), dest = getAs(op.getDest(), widths, op);
  auto made = tensor::InsertSliceOp::create(builder, op.getLoc(), source, dest, slice->offsets, slice->sizes,
                                            slice->strides);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, widths);
  return true;
}

/// What is one segment becomes one of the outer dimension.
bool SegmentExpander::expandPad(tensor::PadOp op) {
  Widths widths = getWidths(op.getResult());
  SmallVector<int64_t> low, high;
  for (auto [dim, width] : llvm::enumerate(widths)) {
    int64_t below = op.getStaticLow()[dim], above = op.getStaticHigh()[dim];
    int64_t unit = std::max<int64_t>(width, 1);
    if (ShapedType::isDynamic(below) || ShapedType::isDynamic(above) || below % unit != 0 ||
        above % unit != 0 || op.getSourceType().getDimSize(dim) % unit != 0)
      return false;
    low.push_back(below / unit);
    high.push_back(above / unit);
    if (width != 0) {
      low.push_back(0);
      high.push_back(0);
    }
  }
  if (!op.getConstantPaddingValue())
    return false;
  Value source = getAs(op.getSource(), widths, op);
  auto made = tensor::PadOp::create(builder, op.getLoc(), expandSegments(getType(op.getResult()), widths),
                                    source, low, high, ValueRange(), ValueRange(), op.getNofold());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  made.getRegion().takeBody(op.getRegion());
  for (size_t index = made.getRegion().getNumArguments(); index < low.size(); ++index)
    made.getRegion().addArgument(builder.getIndexType(), op.getLoc());
  define(op.getResult(), made, widths);
  return true;
}

bool SegmentExpander::expandConcatenate(ConcatenateOp op) {
  Widths widths = getWidths(op.getResult());
  int64_t width = std::max<int64_t>(widths[op.getDim()], 1);
  for (Value operand : op.getOperands())
    if (getType(operand).getDimSize(op.getDim()) % width != 0)
      return false;
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(getAs(operand, widths, op));
  auto made = ConcatenateOp::create(builder, op.getLoc(), expandSegments(getType(op.getResult()), widths),
                                    operands, getPosition(widths, op.getDim()));
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, widths);
  return true;
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// The dimensions of `shape`, in the form `widths`, that the dimensions `group` of it become.
static SmallVector<int64_t> getGroup(ArrayRef<int64_t> widths, const ReassociationIndices &group) {
  int64_t begin = getPosition(widths, group.front()), end = getPosition(widths, group.back() + 1);
  return llvm::to_vector(llvm::seq(begin, end));
}

/// For each dimension of the coarse side, in the form that `coarse` becomes, its dimensions of the fine side,
/// which has the shape `shape`. Segments of the coarse side that no dimension of the fine side begins with
/// are dropped from `coarse`.
static SmallVector<ReassociationIndices> regroup(ArrayRef<ReassociationIndices> groups,
                                                 ArrayRef<int64_t> shape, ArrayRef<int64_t> fine,
                                                 RankedTensorType whole, MutableArrayRef<int64_t> coarse) {
  SmallVector<ReassociationIndices> result;
  for (auto [dim, group] : llvm::enumerate(groups)) {
    SmallVector<int64_t> dims = group.empty() ? SmallVector<int64_t>() : getGroup(fine, group);
    int64_t outer = coarse[dim] == 0 ? 0 : whole.getDimSize(dim) / coarse[dim], product = 1;
    size_t split = 0;
    while (outer != 0 && split < dims.size() && product < outer)
      product *= shape[dims[split++]];
    if (outer == 0 || product != outer || split == dims.size()) {
      coarse[dim] = 0;
      result.emplace_back(dims.begin(), dims.end());
      continue;
    }
    result.emplace_back(dims.begin(), dims.begin() + split);
    result.emplace_back(dims.begin() + split, dims.end());
  }
  return result;
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
  Widths fine = getWidths(op.getResult()), coarse = getWidths(op.getSrc());
  auto type = expandSegments(op.getResultType(), fine);
  SmallVector<ReassociationIndices> groups =
      regroup(op.getReassociationIndices(), type.getShape(), fine, op.getSrcType(), coarse);
  define(op.getResult(), reshapeTo(builder, op, type, getAs(op.getSrc(), coarse, op), groups), fine);
  return true;
}

bool SegmentExpander::collapseShape(tensor::CollapseShapeOp op) {
  Widths fine = getWidths(op.getSrc()), coarse = getWidths(op.getResult());
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
  if (!elements)
    return false;
  Widths widths = getWidths(op);
  auto made =
      arith::ConstantOp::create(builder, op.getLoc(), elements.reshape(expandSegments(getType(op), widths)));
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op, made, widths);
  return true;
}

bool SegmentExpander::expandReshard(ReshardOp op) {
  Widths widths = getWidths(op.getResult());
  ShardingAttr sharding =
      expandSegments(op.getSharding(), lookupMesh(op, op.getSharding().getMesh()), widths);
  if (!sharding)
    return false;
  auto made = ReshardOp::create(builder, op.getLoc(), expandSegments(getType(op.getResult()), widths),
                                getAs(op.getOperand(), widths, op), sharding);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, widths);
  return true;
}

/// Who says how a whole is split says how each of its segments is.
bool SegmentExpander::expandConstrain(ConstrainOp op) {
  Widths widths = getWidths(op.getResult());
  ConstraintAttr said = op.getConstraint();
  SmallVector<SmallVector<StringRef>> axes =
      llvm::map_to_vector(llvm::seq(said.getRank()), [&](int64_t dim) { return said.getDimAxes(dim); });
  auto dims = expandSegments(axes, mesh, widths);
  if (!dims)
    return false;
  auto constraint = ConstraintAttr::get(op.getContext(), *dims, said.getWholeAxes());
  auto made = ConstrainOp::create(builder, op.getLoc(), expandSegments(getType(op.getResult()), widths),
                                  getAs(op.getOperand(), widths, op), constraint);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  define(op.getResult(), made, widths);
  return true;
}

/// The same op on other shapes.
bool SegmentExpander::expandPointwise(Operation *op, ArrayRef<int64_t> operandWidths,
                                      ArrayRef<int64_t> resultWidths) {
  IRMapping mapping;
  mapping.map(op->getOperand(0), getAs(op->getOperand(0), operandWidths, op));
  Operation *made = builder.clone(*op, mapping);
  made->getResult(0).setType(expandSegments(getType(op->getResult(0)), resultWidths));
  define(op->getResult(0), made->getResult(0), resultWidths);
  return true;
}

/// Dimension 0 of a stack counts turns.
bool SegmentExpander::expandStack(Operation *op) {
  Widths widths = getWidths(op->getResult(0));
  if (isa<LoopStackOp>(op))
    return widths[0] == 0 && expandPointwise(op, ArrayRef(widths).drop_front(), widths);
  Widths stack = widths;
  stack.insert(stack.begin(), 0);
  return expandPointwise(op, stack, widths);
}

bool SegmentExpander::expand(Operation *op) {
  auto isOneShape = [&] {
    return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
           isa<RankedTensorType>(op->getOperand(0).getType()) &&
           isa<RankedTensorType>(op->getResult(0).getType()) &&
           getType(op->getOperand(0)).getShape() == getType(op->getResult(0)).getShape();
  };
  auto expandEach = [&](Operation *each) {
    Widths widths = getWidths(each->getResult(0));
    return expandPointwise(each, widths, widths);
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
