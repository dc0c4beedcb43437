//===- Segments.cpp - Dimensions that are cut into equal segments ---------===//

#include "passes/shard/Segments.h"
#include "dialect/Loops.h"
#include "passes/shard/AxisState.h"
#include "passes/shard/Rules.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

bool mlir::epl::hasSegments(ArrayRef<int64_t> widths) {
  return llvm::any_of(widths, [](int64_t width) { return width != 0; });
}

RankedTensorType mlir::epl::expandSegments(RankedTensorType type, ArrayRef<int64_t> widths) {
  SmallVector<int64_t> shape;
  for (auto [extent, width] : llvm::zip_equal(type.getShape(), widths))
    if (width != 0)
      shape.append({extent / width, width});
    else
      shape.push_back(extent);
  return RankedTensorType::get(shape, type.getElementType());
}

/// Whether a map reads the same element for all loops.
static bool isConstantMap(AffineMap map) {
  return llvm::all_of(map.getResults(), llvm::IsaPred<AffineConstantExpr>);
}

bool mlir::epl::isSameEverywhere(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op || isUniform(op))
    return op && isa<RankedTensorType>(tensor.getType());
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInits() != 1 || generic.getNumReductionLoops() != 0 ||
      !getCapturedTensors(op).empty() || !generic.getBody()->getOps<linalg::IndexOp>().empty())
    return false;
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  return llvm::all_of(ArrayRef(maps).drop_back(), isConstantMap) && maps.back().isIdentity() &&
         isSameEverywhere(generic.getDpsInits()[0]);
}

namespace {
/// A dimension of a tensor of the function, by number.
using Dim = unsigned;

/// A range of a dimension that is a dimension elsewhere: of the result of a slice, or the operand of a
/// concatenation.
struct Cut {
  Dim whole;
  int64_t offset, size;
  std::optional<Dim> part; ///< none if the slice drops it
  bool joins;              ///< whether a concatenation makes the whole
};

/// A dimension that a reshape lays out as several: steps of `inner` elements along `flat` are steps along
/// `major`.
struct Nest {
  Dim flat, major;
  int64_t inner;
};

/// Dimensions that are the same one in a program are one class; cuts and reshapes tell how classes are made
/// of each other.
class SegmentFinder {
public:
  SegmentFinder(func::FuncOp function, ArrayRef<int64_t> axisSizes)
      : function(function), axisSizes(axisSizes) {}

  DenseMap<Value, Widths> run();

private:
  Block &getBody() { return function.getBody().front(); }
  void number(Value value);
  std::optional<Dim> getDim(Value value, int64_t dim) const;
  void join(Value a, Value b);
  void link(Operation *op);
  void linkFactors(Operation *op);
  void linkEnds();
  template <typename ReshapeOp> void linkReshape(ReshapeOp op);
  void addCut(Value whole, int64_t dim, int64_t offset, int64_t size, std::optional<Dim> part, bool joins);
  void cutSlice(OffsetSizeAndStrideOpInterface slice, Value whole, Value part,
                const llvm::SmallBitVector &dropped);
  void cutPad(tensor::PadOp op);
  void cutConcatenate(ConcatenateOp op);
  void seed();
  bool spread();
  bool setWidth(Dim dim, int64_t width);
  void keepParameters();

  int64_t &widthOf(Dim dim) { return widths[classes[dim]]; }

  func::FuncOp function;
  ArrayRef<int64_t> axisSizes;
  DenseMap<Value, Dim> first; ///< dimension 0 of each tensor
  SmallVector<int64_t> extents;
  llvm::IntEqClasses classes;
  SmallVector<Cut> cuts;
  SmallVector<Nest> nests;
  SmallVector<int64_t> widths; ///< of segments, by class; 0: none
};
} // namespace

//===----------------------------------------------------------------------===//
// Which dimensions are one
//===----------------------------------------------------------------------===//

void SegmentFinder::number(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || isSameEverywhere(value))
    return;
  first[value] = extents.size();
  extents.append(type.getShape().begin(), type.getShape().end());
}

std::optional<Dim> SegmentFinder::getDim(Value value, int64_t dim) const {
  auto found = first.find(value);
  return found == first.end() ? std::nullopt : std::optional<Dim>(found->second + dim);
}

void SegmentFinder::join(Value a, Value b) {
  for (int64_t dim = 0; dim < cast<RankedTensorType>(a.getType()).getRank(); ++dim)
    if (std::optional<Dim> left = getDim(a, dim), right = getDim(b, dim); left && right)
      classes.join(*left, *right);
}

void SegmentFinder::linkFactors(Operation *op) {
  FactorRule rule = getFactorRule(op);
  SmallVector<std::optional<Dim>> known(rule.factors.size());
  auto visit = [&](Value value, ArrayRef<int64_t> factors) {
    for (auto [dim, factor] : llvm::enumerate(factors)) {
      std::optional<Dim> found = getDim(value, dim);
      if (factor == FactorRule::kBlocked || !found)
        continue;
      if (known[factor])
        classes.join(*known[factor], *found);
      known[factor] = found;
    }
  };
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
    visit(operand, factors);
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
    visit(result, factors);
}

template <typename ReshapeOp> void SegmentFinder::linkReshape(ReshapeOp op) {
  constexpr bool expands = std::is_same_v<ReshapeOp, tensor::ExpandShapeOp>;
  Value fine = expands ? op.getResult() : op.getSrc(), coarse = expands ? op.getSrc() : op.getResult();
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    std::optional<Dim> flat = getDim(coarse, dim);
    auto major = llvm::find_if(
        group, [&](int64_t each) { return cast<RankedTensorType>(fine.getType()).getDimSize(each) > 1; });
    std::optional<Dim> outer = major == group.end() ? std::nullopt : getDim(fine, *major);
    if (!flat || !outer)
      continue;
    if (extents[*flat] == extents[*outer])
      classes.join(*flat, *outer);
    else if (extents[*flat] > 0)
      nests.push_back({*flat, *outer, extents[*flat] / extents[*outer]});
  }
}

/// What ends and begins again in another place: states from step to step, carried values from turn to turn.
void SegmentFinder::linkEnds() {
  for (auto [result, value] : llvm::enumerate(getBody().getTerminator()->getOperands()))
    if (BlockArgument argument = getUpdatedArgument(function, result))
      if (isa<RankedTensorType>(argument.getType()))
        join(argument, value);
  Loops loops(getBody());
  for (auto last : getBody().getOps<LoopLastOp>())
    if (LoopCarryOp carry = loops.getCarry(last))
      join(carry.getResult(), last.getOperand());
}

void SegmentFinder::link(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>([&](auto reshape) { linkReshape(reshape); })
      .Case([&](tensor::ExtractSliceOp slice) {
        linkFactors(op);
        cutSlice(slice, slice.getSource(), slice.getResult(), slice.getDroppedDims());
      })
      .Case([&](tensor::InsertSliceOp slice) {
        linkFactors(op);
        cutSlice(slice, slice.getResult(), slice.getSource(), slice.getDroppedDims());
      })
      .Case([&](tensor::PadOp pad) {
        linkFactors(op);
        cutPad(pad);
      })
      .Case([&](ConcatenateOp concatenate) {
        linkFactors(op);
        cutConcatenate(concatenate);
      })
      .Case<linalg::GenericOp, tensor::BitcastOp, UnrealizedConversionCastOp, ReshardOp, ConstrainOp,
            LoopCarryOp, LoopLastOp, LoopSliceOp, LoopStackOp>([&](auto) { linkFactors(op); });
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

void SegmentFinder::addCut(Value whole, int64_t dim, int64_t offset, int64_t size, std::optional<Dim> part,
                           bool joins) {
  if (std::optional<Dim> found = getDim(whole, dim); found && size < extents[*found])
    cuts.push_back({*found, offset, size, part, joins});
}

void SegmentFinder::cutSlice(OffsetSizeAndStrideOpInterface slice, Value whole, Value part,
                             const llvm::SmallBitVector &dropped) {
  int64_t partDim = 0;
  for (unsigned dim = 0; dim < dropped.size(); ++dim) {
    int64_t offset = slice.getStaticOffsets()[dim], size = slice.getStaticSizes()[dim];
    bool isStatic = !ShapedType::isDynamic(offset) && !ShapedType::isDynamic(size);
    std::optional<Dim> found = dropped.test(dim) ? std::nullopt : getDim(part, partDim++);
    if (isStatic && slice.getStaticStrides()[dim] == 1)
      addCut(whole, dim, offset, size, found, /*joins=*/false);
  }
}

void SegmentFinder::cutPad(tensor::PadOp op) {
  if (!op.getConstantPaddingValue())
    return;
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim)
    if (int64_t low = op.getStaticLow()[dim]; low >= 0 && op.getStaticHigh()[dim] >= 0)
      addCut(op.getResult(), dim, low, op.getSourceType().getDimSize(dim), getDim(op.getSource(), dim),
             /*joins=*/false);
}

void SegmentFinder::cutConcatenate(ConcatenateOp op) {
  int64_t offset = 0, dim = op.getDim();
  for (Value operand : op.getOperands()) {
    int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(dim);
    addCut(op.getResult(), dim, offset, size, getDim(operand, dim), /*joins=*/true);
    offset += size;
  }
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// A dimension has segments where all that is cut out of it has one size, in at least two places.
void SegmentFinder::seed() {
  llvm::MapVector<unsigned, SmallVector<const Cut *>> byClass;
  for (const Cut &cut : cuts)
    byClass[classes[cut.whole]].push_back(&cut);
  for (auto &[index, members] : byClass) {
    const Cut &one = *members.front();
    bool isRegular =
        one.size > 0 && extents[one.whole] % one.size == 0 && llvm::all_of(members, [&](const Cut *cut) {
          return cut->size == one.size && cut->offset % one.size == 0;
        });
    bool isTaken = llvm::any_of(members, [&](const Cut *cut) { return cut->offset != one.offset; });
    if (isRegular && isTaken)
      widths[index] = one.size;
  }
}

bool SegmentFinder::setWidth(Dim dim, int64_t width) {
  if (widthOf(dim) != 0 || width >= extents[dim] || extents[dim] % width != 0)
    return false;
  widthOf(dim) = width;
  return true;
}

/// One round from dimensions with segments to those that they are laid out as and to parts of several
/// segments. Whether there was one.
bool SegmentFinder::spread() {
  bool changed = false;
  for (const Nest &nest : nests) {
    if (int64_t width = widthOf(nest.major))
      changed |= setWidth(nest.flat, width * nest.inner);
    if (int64_t width = widthOf(nest.flat); width != 0 && width % nest.inner == 0)
      changed |= setWidth(nest.major, width / nest.inner);
  }
  for (const Cut &cut : cuts)
    if (int64_t width = widthOf(cut.whole);
        width != 0 && cut.part && cut.size > width && cut.size % width == 0 && cut.offset % width == 0)
      changed |= setWidth(*cut.part, width);
  return changed;
}

bool mlir::epl::keepsSegments(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  auto arrives = function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), EplDialect::kArrivesAttr);
  return isFloatState(argument) || (type && arrives && arrives.getRank() > type.getRank());
}

/// Segments of which no parameter is a part are of no use: only what parameters ask for is split.
void SegmentFinder::keepParameters() {
  llvm::IntEqClasses related(classes.getNumClasses());
  for (const Nest &nest : nests)
    if (widthOf(nest.flat) != 0 && widthOf(nest.major) != 0)
      related.join(classes[nest.flat], classes[nest.major]);
  for (const Cut &cut : cuts)
    if (cut.part && widthOf(cut.whole) != 0 && (cut.joins || widthOf(*cut.part) != 0))
      related.join(classes[cut.whole], classes[*cut.part]);
  related.compress();
  SmallVector<bool> isKept(related.getNumClasses());
  for (BlockArgument argument : function.getArguments())
    if (keepsSegments(argument))
      for (int64_t dim = 0; dim < cast<RankedTensorType>(argument.getType()).getRank(); ++dim)
        if (std::optional<Dim> found = getDim(argument, dim))
          isKept[related[classes[*found]]] = true;
  for (unsigned index = 0; index < widths.size(); ++index)
    if (!isKept[related[index]] ||
        llvm::none_of(axisSizes, [&](int64_t size) { return widths[index] % size == 0; }))
      widths[index] = 0;
}

DenseMap<Value, Widths> SegmentFinder::run() {
  for (BlockArgument argument : function.getArguments())
    number(argument);
  for (Operation &op : getBody())
    llvm::for_each(op.getResults(), [&](Value result) { number(result); });
  classes.grow(extents.size());
  for (Operation &op : getBody().without_terminator())
    link(&op);
  linkEnds();
  classes.compress();
  widths.assign(classes.getNumClasses(), 0);
  seed();
  while (spread())
    ;
  keepParameters();

  DenseMap<Value, Widths> found;
  for (auto [value, dim] : first) {
    Widths each;
    for (int64_t i = 0; i < cast<RankedTensorType>(value.getType()).getRank(); ++i)
      each.push_back(widthOf(dim + i));
    if (hasSegments(each))
      found[value] = each;
  }
  return found;
}

Segments::Segments(func::FuncOp function, ArrayRef<int64_t> axisSizes)
    : widths(SegmentFinder(function, axisSizes).run()) {}

Widths Segments::getWidths(Value tensor) const {
  auto found = widths.find(tensor);
  if (found != widths.end())
    return found->second;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return Widths(type ? type.getRank() : 0, 0);
}
