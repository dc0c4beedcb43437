//===- Iteration.cpp - How an op iterates and reads -----------------------===//

#include "passes/kernel/cluster/Iteration.h"

#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

bool Read::isPrefix() const { return regular && llvm::equal(loops, llvm::seq<unsigned>(0, loops.size())); }

static SmallVector<int64_t> getNonUnitShape(Value value) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
  llvm::erase(shape, 1);
  return shape;
}

namespace {
/// The loop of an iteration that a loop of the op is, or none if its extent is 1.
using LoopNumbers = SmallVector<std::optional<unsigned>>;

/// Follows what an op reads through clones and views.
class ReadCollector {
public:
  explicit ReadCollector(Iteration &iteration) : iteration(iteration) {}

  /// `value` is read at `loops`; nullopt if that is not known.
  void read(Value value, std::optional<SmallVector<unsigned>> loops);

  /// Whether a view of something computed inside changes more than extents of 1.
  bool reshapesInside = false;

private:
  void readThrough(Operation *op, Value value, std::optional<SmallVector<unsigned>> loops);
  Iteration &iteration;
  DenseSet<Value> scalars; ///< looked through already
};
} // namespace

/// Where `operand` is read, given the numbers of the loops; nullopt if its map is not a choice of loops.
static std::optional<SmallVector<unsigned>> getLoops(AffineMap map, Value operand,
                                                     const LoopNumbers &numbers) {
  SmallVector<unsigned> loops;
  auto shape = cast<RankedTensorType>(operand.getType()).getShape();
  for (auto [expr, extent] : llvm::zip(map.getResults(), shape)) {
    if (extent == 1)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || !numbers[dim.getPosition()])
      return std::nullopt;
    loops.push_back(*numbers[dim.getPosition()]);
  }
  return loops;
}

void ReadCollector::read(Value value, std::optional<SmallVector<unsigned>> loops) {
  Operation *op = value.getDefiningOp();
  OpRole role = op ? getOpRole(op) : OpRole::fusion;
  if (role == OpRole::clone || role == OpRole::view)
    return readThrough(op, value, std::move(loops));
  if (!isa<RankedTensorType>(value.getType()))
    return;
  bool regular = loops && loops->size() == getNonUnitShape(value).size();
  iteration.reads.push_back({value, loops.value_or(SmallVector<unsigned>()), regular});
}

void ReadCollector::readThrough(Operation *op, Value value, std::optional<SmallVector<unsigned>> loops) {
  if (getOpRole(op) == OpRole::view) {
    Value source = op->getOperand(0);
    bool keepsDims = getNonUnitShape(source) == getNonUnitShape(value);
    reshapesInside |=
        !keepsDims && source.getDefiningOp() && getOpRole(source.getDefiningOp()) == OpRole::clone;
    return read(source, keepsDims ? loops : std::nullopt);
  }
  auto broadcast = dyn_cast<GenericOp>(op);
  if (broadcast && loops && isBroadcast(broadcast) &&
      isa<RankedTensorType>(broadcast.getOperand(0).getType())) {
    LoopNumbers numbers;
    auto next = loops->begin();
    for (int64_t extent : broadcast.getStaticLoopRanges())
      numbers.push_back(extent == 1 ? std::nullopt : std::optional<unsigned>(*next++));
    Value source = broadcast.getOperand(0);
    read(broadcast.getOperand(1), std::nullopt); // cloned with it, though its elements do not matter
    return read(source, getLoops(broadcast.getIndexingMapsArray().front(), source, numbers));
  }
  if (!isa<ShapedType>(value.getType()) && !scalars.insert(value).second)
    return;
  for (Value operand : getReadValues(op)) // a scalar, or made of constants
    read(operand, SmallVector<unsigned>());
}

/// One result, combined by one op: what a vector of accumulators can do.
static bool isSimpleReduction(GenericOp op) {
  SmallVector<Operation *> combiners;
  return op.getNumDpsInits() == 1 && matchReduction(op.getRegionOutputArgs(), 0, combiners) &&
         combiners.size() == 1;
}

/// Whether elements can be computed one by one, from elements, some of them at computed positions.
static bool hasScalarBody(GenericOp op) {
  if (!llvm::all_of(op.getIndexingMapsArray(), choosesLoops))
    return false;
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return inner.getNumRegions() == 0 && (isa<tensor::ExtractOp>(inner) ||
                                          llvm::none_of(inner.getOperandTypes(), llvm::IsaPred<ShapedType>));
  });
}

/// The map whose results are the op's loops as memory has them: of the result, or of what is reduced.
static AffineMap getOrderingMap(GenericOp op) {
  if (op.getNumReductionLoops() == 0)
    return op.getIndexingMapsArray().back();
  for (AffineMap map : op.getIndexingMapsArray())
    if (map.isPermutation())
      return map;
  return {};
}

/// Numbers the loops in the order of `map` and fills the iteration's shape.
static LoopNumbers numberLoops(GenericOp op, AffineMap map, Iteration &iteration) {
  LoopNumbers numbers(op.getNumLoops());
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (AffineExpr expr : map.getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (ranges[loop] == 1)
      continue;
    numbers[loop] = iteration.shape.size();
    iteration.shape.push_back(ranges[loop]);
  }
  return numbers;
}

/// What kind of iteration it is, by where the reduced loops are.
static void classify(GenericOp op, const LoopNumbers &numbers, Iteration &iteration) {
  llvm::SmallBitVector reduced(iteration.shape.size());
  for (auto [number, type] : llvm::zip(numbers, op.getIteratorTypesArray()))
    if (number && type == utils::IteratorType::reduction)
      reduced.set(*number);
  unsigned count = reduced.count();
  if (op.getNumReductionLoops() == 0) {
    iteration.kind = Iteration::Kind::pointwise;
  } else if (count == 0 || !isSimpleReduction(op)) {
    iteration.kind = Iteration::Kind::opaque;
  } else if (reduced.find_first() + count == reduced.size()) {
    iteration.kind = Iteration::Kind::rowReduction;
    iteration.split = reduced.find_first();
  } else if (reduced.find_last() + 1 == int(count)) {
    iteration.kind = Iteration::Kind::colReduction;
    iteration.split = count;
  }
}

/// Whether the innermost loop walks every tensor in its order, or not at all.
static bool isMinorContiguous(const Iteration &iteration) {
  return llvm::all_of(iteration.reads, [&](const Read &read) {
    auto minor = llvm::find(read.loops, iteration.shape.size() - 1);
    return minor == read.loops.end() || std::next(minor) == read.loops.end();
  });
}

Iteration mlir::epl::getIteration(Operation *op) {
  Iteration iteration;
  ReadCollector collector(iteration);
  auto generic = dyn_cast<GenericOp>(op);
  AffineMap order = generic && hasScalarBody(generic) ? getOrderingMap(generic) : AffineMap();
  if (!order || !order.isPermutation()) {
    for (Value value : getReadValues(op))
      collector.read(value, std::nullopt);
    return iteration;
  }
  LoopNumbers numbers = numberLoops(generic, order, iteration);
  classify(generic, numbers, iteration);
  for (OpOperand &operand : generic->getOpOperands()) {
    bool known = isa<RankedTensorType>(operand.get().getType()) && generic.isDpsInput(&operand);
    collector.read(operand.get(),
                   known ? getLoops(generic.getMatchingIndexingMap(&operand), operand.get(), numbers)
                         : std::nullopt);
  }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured) // at computed positions, whether or not it is an operand too
    collector.read(value, SmallVector<unsigned>());
  bool inOrder = llvm::all_of(generic.getDpsInitsMutable(), [&](OpOperand &init) {
    auto loops = getLoops(generic.getMatchingIndexingMap(&init), init.get(), numbers);
    return loops && llvm::is_sorted(*loops);
  });
  if (!inOrder || collector.reshapesInside || !isMinorContiguous(iteration))
    iteration.kind = Iteration::Kind::opaque;
  return iteration;
}
