//===- Segments.cpp - Dimensions that are cut into parts ------------------===//

#include "passes/shard/prepare/Segments.h"

#include "dialect/Loops.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/IntEqClasses.h"

#include <set>

using namespace mlir;
using namespace mlir::epl;

bool mlir::epl::hasSegments(ArrayRef<DimForm> form) {
  return llvm::any_of(form, [](DimForm dim) { return dim.isTwo(); });
}

int64_t mlir::epl::getPosition(ArrayRef<DimForm> form, int64_t dim) {
  return dim + llvm::count_if(form.take_front(dim), [](DimForm each) { return each.isTwo(); });
}

RankedTensorType mlir::epl::expandSegments(RankedTensorType type, ArrayRef<DimForm> form) {
  SmallVector<int64_t> shape;
  for (auto [extent, dim] : llvm::zip_equal(type.getShape(), form))
    if (dim.isTwo())
      shape.append({extent / dim.inner, dim.inner});
    else
      shape.push_back(extent);
  return RankedTensorType::get(shape, type.getElementType());
}

std::optional<DimForm> mlir::epl::getRangeForm(DimForm form, int64_t extent, int64_t offset, int64_t size) {
  SmallVector<int64_t> taken;
  int64_t begin = 0, end = offset + size, shares = extent / form.inner;
  if (offset < 0 || end > extent) // padding that takes away
    return std::nullopt;
  for (int64_t part : form.parts.asArrayRef()) {
    bool isInside = begin >= offset && begin + part <= end;
    if (!isInside && begin < end && begin + part > offset)
      return std::nullopt;
    if (isInside)
      taken.push_back(part);
    begin += part;
  }
  if (taken.empty())
    return std::nullopt;
  auto parts =
      taken.size() == 1 ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(form.parts.getContext(), taken);
  return DimForm{size / shares, parts};
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

/// A range of dimension `whole`.
struct DimRange {
  Dim whole;
  int64_t offset, size;
  std::optional<Dim> part; ///< none if the slice drops it
  bool joins;              ///< whether a concatenation makes the whole
};

/// A dimension that a reshape lays out as several: steps of `inner` elements along `flat` are steps along
/// `major`.
struct Layout {
  Dim flat, major;
  int64_t inner;
};

/// Dimensions that are the same one in a program are one class; cuts and reshapes tell how classes are made
/// of each other.
class SegmentFinder {
public:
  SegmentFinder(func::FuncOp function, ArrayRef<int64_t> axisSizes)
      : function(function), axisSizes(axisSizes) {}

  DenseMap<Value, Form> run();

private:
  Block &getBody() { return function.getBody().front(); }
  void number(Value value);
  std::optional<Dim> getDim(Value value, int64_t dim) const;
  void join(Value a, Value b);
  void link(Operation *op);
  void linkFactors(Operation *op);
  void linkEnds();
  void linkFolded(const FoldedDim &folded);
  void addRange(const Cut &cut);
  void seed();
  DimForm makeParts(ArrayRef<const DimRange *> cuts);
  bool spread();
  bool setForm(Dim dim, DimForm form);
  bool canSplit(DimForm form) const;
  void keepParameters();

  DimForm &formOf(Dim dim) { return forms[classes[dim]]; }

  func::FuncOp function;
  ArrayRef<int64_t> axisSizes;
  DenseMap<Value, Dim> first; ///< dimension 0 of each tensor
  SmallVector<int64_t> extents;
  llvm::IntEqClasses classes;
  SmallVector<DimRange> ranges;
  SmallVector<Layout> layouts;
  Form forms; ///< of dimensions, by class
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

void SegmentFinder::linkFolded(const FoldedDim &folded) {
  auto isLarge = [&](int64_t dim) {
    return cast<RankedTensorType>(folded.fine.getType()).getDimSize(dim) > 1;
  };
  const auto *major = llvm::find_if(folded.group, isLarge);
  std::optional<Dim> flat = getDim(folded.coarse, folded.flat);
  std::optional<Dim> outer = major == folded.group.end() ? std::nullopt : getDim(folded.fine, *major);
  if (!flat || !outer)
    return;
  if (extents[*flat] == extents[*outer])
    classes.join(*flat, *outer);
  else if (extents[*flat] > 0)
    layouts.push_back({*flat, *outer, extents[*flat] / extents[*outer]});
}

/// What ends and begins again in another place: states from step to step, carried values from one iteration
/// to the next.
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

/// A dimension that is laid out as several is not the first of these: it has other segments.
void SegmentFinder::link(Operation *op) {
  auto model = dyn_cast<ShardableOp>(op);
  if (!model || !model.hasSegmentedForm())
    return;
  SmallVector<FoldedDim> foldedDims = model.getFoldedDims();
  for (const FoldedDim &folded : foldedDims)
    linkFolded(folded);
  if (foldedDims.empty())
    linkFactors(op);
  for (const Cut &cut : model.getCuts())
    addRange(cut);
}

/// Ranges that are known, of one element next to the other, less than the whole.
void SegmentFinder::addRange(const Cut &cut) {
  bool isKnown = !ShapedType::isDynamic(cut.offset) && !ShapedType::isDynamic(cut.size) && cut.stride == 1;
  std::optional<Dim> whole = getDim(cut.whole, cut.dim);
  if (!isKnown || !whole || cut.size >= extents[*whole] || cut.offset < 0 ||
      cut.offset + cut.size > extents[*whole])
    return;
  std::optional<Dim> part = cut.partDim < 0 ? std::nullopt : getDim(cut.part, cut.partDim);
  ranges.push_back({*whole, cut.offset, cut.size, part, cut.joins});
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// A dimension has equal segments where all that is cut out of it has one size, in at least two places, and
/// parts where sizes differ.
void SegmentFinder::seed() {
  llvm::MapVector<unsigned, SmallVector<const DimRange *>> byClass;
  for (const DimRange &range : ranges)
    byClass[classes[range.whole]].push_back(&range);
  for (auto &[index, members] : byClass) {
    const DimRange &one = *members.front();
    bool isRegular = one.size > 0 && extents[one.whole] % one.size == 0 &&
                     llvm::all_of(members, [&](const DimRange *range) {
                       return range->size == one.size && range->offset % one.size == 0;
                     });
    bool isTaken = llvm::any_of(members, [&](const DimRange *range) { return range->offset != one.offset; });
    if (isTaken)
      forms[index] = isRegular ? DimForm{one.size} : makeParts(members);
  }
}

/// Parts from border to border of what is cut, if some number of devices divides each of them: all axes
/// together, or else the largest that does.
DimForm SegmentFinder::makeParts(ArrayRef<const DimRange *> ranges) {
  int64_t extent = extents[ranges.front()->whole];
  if (extent == 0 ||
      llvm::any_of(ranges, [&](const DimRange *range) { return extents[range->whole] != extent; }))
    return {};
  std::set<int64_t> borders = {0, extent};
  for (const DimRange *range : ranges)
    borders.insert({range->offset, range->offset + range->size});
  SmallVector<int64_t> parts;
  for (auto border = borders.begin(); *border != extent; ++border)
    parts.push_back(*std::next(border) - *border);
  SmallVector<int64_t> counts = llvm::to_vector(axisSizes);
  counts.push_back(llvm::product_of(axisSizes));
  llvm::sort(counts, std::greater<>());
  for (int64_t count : counts)
    if (llvm::all_of(parts, [&](int64_t part) { return part % count == 0; }))
      return {extent / count, DenseI64ArrayAttr::get(function.getContext(), parts)};
  return {};
}

bool SegmentFinder::setForm(Dim dim, DimForm form) {
  if (formOf(dim).isTwo() || form.inner >= extents[dim] || extents[dim] % form.inner != 0)
    return false;
  formOf(dim) = form;
  return true;
}

DimForm mlir::epl::multiply(DimForm form, int64_t factor) {
  if (!form.parts)
    return {form.inner * factor};
  SmallVector<int64_t> parts =
      llvm::map_to_vector(form.parts.asArrayRef(), [&](int64_t part) { return part * factor; });
  return {form.inner * factor, DenseI64ArrayAttr::get(form.parts.getContext(), parts)};
}

/// The inverse, of a dimension of `extent` elements; nothing if a piece of a part would end within an
/// element.
static std::optional<DimForm> divide(DimForm form, int64_t extent, int64_t factor) {
  if (form.inner % factor != 0)
    return std::nullopt;
  if (!form.parts)
    return DimForm{form.inner / factor};
  int64_t shares = extent / form.inner;
  SmallVector<int64_t> parts;
  for (int64_t part : form.parts.asArrayRef()) {
    if (part % (factor * shares) != 0)
      return std::nullopt;
    parts.push_back(part / factor);
  }
  return DimForm{form.inner / factor, DenseI64ArrayAttr::get(form.parts.getContext(), parts)};
}

/// What a range of a dimension is written as; nothing if it is a dimension of one.
static std::optional<DimForm> getPartForm(DimForm form, int64_t extent, const DimRange &cut) {
  if (!form.parts)
    return cut.size > form.inner && cut.size % form.inner == 0 && cut.offset % form.inner == 0
               ? std::optional(form)
               : std::nullopt;
  std::optional<DimForm> range = getRangeForm(form, extent, cut.offset, cut.size);
  return range && range->parts ? range : std::nullopt;
}

/// One round from dimensions with segments to those that they are laid out as and to parts of several
/// segments. Whether there was one.
bool SegmentFinder::spread() {
  bool changed = false;
  for (const Layout &layout : layouts) {
    if (DimForm form = formOf(layout.major); form.isTwo())
      changed |= setForm(layout.flat, multiply(form, layout.inner));
    if (DimForm form = formOf(layout.flat); form.isTwo())
      if (std::optional<DimForm> major = divide(form, extents[layout.flat], layout.inner))
        changed |= setForm(layout.major, *major);
  }
  for (const DimRange &range : ranges)
    if (DimForm form = formOf(range.whole); form.isTwo() && range.part)
      if (std::optional<DimForm> part = getPartForm(form, extents[range.whole], range))
        changed |= setForm(*range.part, *part);
  return changed;
}

bool mlir::epl::keepsSegments(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  auto arrives = function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), EplDialect::kArrivesAttr);
  return isFloatState(argument) || (type && arrives && arrives.getRank() > type.getRank());
}

/// Whether some axis splits the parts.
bool SegmentFinder::canSplit(DimForm form) const {
  return form.parts || llvm::any_of(axisSizes, [&](int64_t size) { return form.inner % size == 0; });
}

/// Segments of which no parameter is a part are of no use: only what parameters ask for is split.
void SegmentFinder::keepParameters() {
  llvm::IntEqClasses related(classes.getNumClasses());
  for (const Layout &layout : layouts)
    if (formOf(layout.flat).isTwo() && formOf(layout.major).isTwo())
      related.join(classes[layout.flat], classes[layout.major]);
  for (const DimRange &range : ranges)
    if (range.part && formOf(range.whole).isTwo() && (range.joins || formOf(*range.part).isTwo()))
      related.join(classes[range.whole], classes[*range.part]);
  related.compress();
  SmallVector<bool> isKept(related.getNumClasses());
  for (BlockArgument argument : function.getArguments())
    if (keepsSegments(argument))
      for (int64_t dim = 0; dim < cast<RankedTensorType>(argument.getType()).getRank(); ++dim)
        if (std::optional<Dim> found = getDim(argument, dim))
          isKept[related[classes[*found]]] = true;
  for (auto [index, form] : llvm::enumerate(forms))
    if (!isKept[related[index]] || !canSplit(form))
      form = {};
}

DenseMap<Value, Form> SegmentFinder::run() {
  for (BlockArgument argument : function.getArguments())
    number(argument);
  for (Operation &op : getBody())
    llvm::for_each(op.getResults(), [&](Value result) { number(result); });
  classes.grow(extents.size());
  for (Operation &op : getBody().without_terminator())
    link(&op);
  linkEnds();
  classes.compress();
  forms.assign(classes.getNumClasses(), {});
  seed();
  while (spread())
    ;
  keepParameters();

  DenseMap<Value, Form> found;
  for (auto [value, dim] : first) {
    Form each;
    for (int64_t i = 0; i < cast<RankedTensorType>(value.getType()).getRank(); ++i)
      each.push_back(formOf(dim + i));
    if (hasSegments(each))
      found[value] = each;
  }
  return found;
}

Segments::Segments(func::FuncOp function, ArrayRef<int64_t> axisSizes)
    : forms(SegmentFinder(function, axisSizes).run()) {}

Form Segments::getForm(Value tensor) const {
  auto found = forms.find(tensor);
  if (found != forms.end())
    return found->second;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return Form(type ? type.getRank() : 0);
}
