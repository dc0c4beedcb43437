//===- Roots.cpp - The values that a kernel stores -------------------------------===//
//
// Problem: most values of a kernel live in registers only. Which must be in memory, and when?
//
// Method: results, reductions and the parts of concatenations, pads and insertions are stored; all other
// values are computed where they are used. A root that reads another one from memory comes later: at a later
// level of the same row, or in a later nest if the other is a reduction over the rows themselves. A value
// with exp, tanh or the like that several places would compute again is stored at the first of them.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cluster/Roots.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::epl;

static bool isCombiner(Operation *op) {
  return isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::AddIOp, arith::MulIOp, arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp,
             arith::MinUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op);
}

Operation *mlir::epl::matchCombiner(linalg::LinalgOp reduction, unsigned result) {
  Block &payload = *reduction.getBlock();
  auto accumulators = payload.getArguments().drop_front(reduction.getNumDpsInputs());
  for (auto [accumulator, yielded] : llvm::zip_equal(accumulators, payload.getTerminator()->getOperands())) {
    Operation *op = yielded.getDefiningOp();
    if (!op || !isCombiner(op) || !op->hasOneUse() || !accumulator.hasOneUse() ||
        *accumulator.user_begin() != op)
      return nullptr;
  }
  return payload.getTerminator()->getOperand(result).getDefiningOp();
}

namespace {

class RootCollector {
public:
  explicit RootCollector(KernelOp kernel) : kernel(kernel) {}
  std::optional<RootSet> collect();

private:
  bool collectMaterialized();
  bool collectResults();
  bool placeRoots();
  bool storeCostlyValues();

  void addReduction(linalg::LinalgOp op);
  void addConcatenation(Operation *op, int64_t dim);
  bool addPad(tensor::PadOp op);
  bool addInsertion(tensor::InsertSliceOp op);
  Root makeElementwise(Value value);
  Root makeReduction(linalg::LinalgOp op);
  /// A root that copies `source` (a tensor, or a scalar to fill with) to the part of `value` that begins at
  /// `offsets` and takes steps of `strides`; `shape` is the part's, along all dimensions of `value`.
  void addPart(Value value, Value source, ArrayRef<int64_t> offsets, ArrayRef<int64_t> strides,
               ArrayRef<int64_t> shape, int64_t after = -1);
  void add(Root root);

  KernelOp kernel;
  RootSet set;
  std::map<Operation *, std::set<std::pair<unsigned, unsigned>>> placesOfCostly; // nest and level
};

} // namespace

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

Root RootCollector::makeElementwise(Value value) {
  Root root;
  root.values = {value};
  for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
    if (size != 1)
      root.domain.push_back(size);
  root.stores = {StridedAccess::identity(root.domain)};
  root.reduced.assign(root.domain.size(), false);
  return root;
}

// Loops of a reduction: parallel ones first, then the reduced ones.
Root RootCollector::makeReduction(linalg::LinalgOp op) {
  Root root;
  root.reduction = op;
  root.values = llvm::to_vector_of<Value>(op->getResults());
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<unsigned> order;
  for (bool reduced : {false, true})
    for (unsigned loop = 0; loop < ranges.size(); ++loop)
      if (ranges[loop] != 1 && (iterators[loop] == utils::IteratorType::reduction) == reduced) {
        order.push_back(loop);
        root.domain.push_back(ranges[loop]);
        root.reduced.push_back(reduced);
      }
  size_t rank = order.size();
  root.loops.assign(ranges.size(), StridedAccess::constant(0, rank));
  for (auto [dim, loop] : llvm::enumerate(order))
    root.loops[loop] = StridedAccess::along(dim, rank);
  for (OpResult value : op->getResults()) {
    SmallVector<StridedAccess> positions;
    for (AffineExpr expr : op.getIndexingMapMatchingResult(value).getResults())
      positions.push_back(apply(expr, root.loops, rank).value_or(StridedAccess::constant(0, rank)));
    root.stores.push_back(linearize(positions, cast<RankedTensorType>(value.getType()).getShape(), rank));
  }
  return root;
}

void RootCollector::add(Root root) {
  for (Value value : root.values)
    set.rootsOf[value].push_back(set.roots.size());
  set.roots.push_back(std::move(root));
}

void RootCollector::addReduction(linalg::LinalgOp op) {
  set.materialized.insert_range(op->getResults());
  add(makeReduction(op));
}

void RootCollector::addPart(Value value, Value source, ArrayRef<int64_t> offsets, ArrayRef<int64_t> strides,
                            ArrayRef<int64_t> shape, int64_t after) {
  set.materialized.insert(value);
  if (llvm::is_contained(shape, 0))
    return;
  Root root;
  root.values = {value};
  root.source = source;
  root.after = after;
  SmallVector<StridedAccess> positions;
  for (int64_t size : shape)
    if (size != 1)
      root.domain.push_back(size);
  size_t dim = 0;
  for (auto [offset, stride, size] : llvm::zip_equal(offsets, strides, shape)) {
    positions.push_back(StridedAccess::constant(offset, root.domain.size()));
    if (size != 1)
      positions.back() = positions.back() + StridedAccess::along(dim++, root.domain.size()) * stride;
  }
  ArrayRef<int64_t> whole = cast<RankedTensorType>(value.getType()).getShape();
  root.stores = {linearize(positions, whole, root.domain.size())};
  root.sourceAccess = StridedAccess::identity(root.domain);
  root.reduced.assign(root.domain.size(), false);
  add(std::move(root));
}

void RootCollector::addConcatenation(Operation *op, int64_t dim) {
  int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  SmallVector<int64_t> offsets(rank, 0), ones(rank, 1);
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
    addPart(op->getResult(0), operand, offsets, ones, shape);
    offsets[dim] += shape[dim];
  }
}

bool RootCollector::addPad(tensor::PadOp op) {
  Value padding = op.getConstantPaddingValue();
  if (!padding || llvm::any_of(op.getStaticLow(), ShapedType::isDynamic))
    return false;
  ArrayRef<int64_t> whole = op.getType().getShape();
  SmallVector<int64_t> zeros(whole.size(), 0), ones(whole.size(), 1);
  addPart(op, padding, zeros, ones, whole);
  addPart(op, op.getSource(), op.getStaticLow(), ones, op.getSourceType().getShape(), set.roots.size() - 1);
  return true;
}

bool RootCollector::addInsertion(tensor::InsertSliceOp op) {
  auto isDynamic = [](ArrayRef<int64_t> values) { return llvm::any_of(values, ShapedType::isDynamic); };
  if (isDynamic(op.getStaticOffsets()) || isDynamic(op.getStaticStrides()))
    return false;
  ArrayRef<int64_t> whole = op.getType().getShape();
  SmallVector<int64_t> zeros(whole.size(), 0), ones(whole.size(), 1);
  addPart(op, op.getDest(), zeros, ones, whole);
  addPart(op, op.getSource(), op.getStaticOffsets(), op.getStaticStrides(), op.getStaticSizes(),
          set.roots.size() - 1);
  return true;
}

bool RootCollector::collectMaterialized() {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (llvm::none_of(op.getResultTypes(), isTensor) && llvm::any_of(op.getOperandTypes(), isTensor))
      return false;
    if (auto pad = dyn_cast<tensor::PadOp>(op); pad && !addPad(pad))
      return false;
    if (auto insertion = dyn_cast<tensor::InsertSliceOp>(op); insertion && !addInsertion(insertion))
      return false;
    if (auto concat = dyn_cast<tensor::ConcatOp>(op))
      addConcatenation(concat, concat.getDim());
    if (auto concat = dyn_cast<ConcatenateOp>(op))
      addConcatenation(concat, concat.getDim());
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      continue;
    if (!linalgOp.hasPureTensorSemantics() ||
        llvm::any_of(linalgOp.getStaticLoopRanges(), ShapedType::isDynamic))
      return false;
    if (linalgOp.getNumReductionLoops() == 0)
      continue;
    auto isProjection = [&](OpResult value) {
      return linalgOp.getIndexingMapMatchingResult(value).isProjectedPermutation();
    };
    if (!isVectorizable(*linalgOp.getBlock()) || !llvm::all_of(op.getResults(), isProjection))
      return false;
    addReduction(linalgOp);
  }
  return true;
}

bool RootCollector::collectResults() {
  DenseSet<Value> results;
  for (Value operand : kernel.getBody().front().getTerminator()->getOperands()) {
    Value value = stripViews(operand);
    if (!results.insert(value).second)
      return false;
    if (!set.materialized.contains(value))
      add(makeElementwise(value));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static bool isCostly(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || op->getNumResults() != 1)
    return false;
  return llvm::any_of(*linalgOp.getBlock(), [](Operation &payload) {
    return isa<math::MathDialect>(payload.getDialect()) &&
           !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::SqrtOp, math::RsqrtOp, math::FloorOp,
                math::CeilOp, math::RoundOp, math::RoundEvenOp, math::CopySignOp>(payload);
  });
}

// Later than `other`, whose value it reads or overwrites.
static void placeAfter(Root &root, const Root &other) {
  unsigned nest = other.nest + other.isAccumulating();
  if (nest > root.nest) {
    root.nest = nest;
    root.level = 0;
  }
  if (other.nest == root.nest)
    root.level = std::max(root.level, other.level + 1);
}

bool RootCollector::placeRoots() {
  for (Root &root : set.roots) {
    std::unique_ptr<Expressions> expressions = traceRoot(root, set.materialized);
    if (expressions && root.reduction) {
      orderLoops(root, *expressions);
      expressions = traceRoot(root, set.materialized);
    }
    if (!expressions)
      return false;
    int64_t volume = std::accumulate(root.domain.begin(), root.domain.end(), int64_t(1), std::multiplies<>());
    set.maxVolume = std::max(set.maxVolume, volume);
    if (root.after >= 0)
      placeAfter(root, set.roots[root.after]);
    for (Element &node : expressions->getNodes())
      if (node.kind == Element::Kind::load && set.materialized.contains(node.tensor))
        for (size_t other : set.rootsOf.lookup(node.tensor))
          placeAfter(root, set.roots[other]);
    for (Element &node : expressions->getNodes())
      if (node.kind == Element::Kind::payload && isCostly(node.op))
        placesOfCostly[node.op].insert({root.nest, root.level});
  }
  return true;
}

bool RootCollector::storeCostlyValues() {
  for (Operation &op : kernel.getBody().front()) {
    auto places = placesOfCostly.find(&op);
    if (places == placesOfCostly.end() || places->second.size() < 2)
      continue;
    Value value = op.getResult(0);
    if (cast<RankedTensorType>(value.getType()).getNumElements() != set.maxVolume)
      continue;
    if (!set.rootsOf.contains(value)) {
      add(makeElementwise(value));
      set.temporaries.push_back(value);
      if (!traceRoot(set.roots.back(), set.materialized))
        return false;
    }
    Root &root = set.roots[set.rootsOf[value][0]];
    std::tie(root.nest, root.level) = *places->second.begin();
    set.costly.push_back(value);
  }
  return true;
}

bool RootSet::isComplete(Value value, unsigned nest, unsigned level) const {
  return llvm::all_of(rootsOf.lookup(value), [&](size_t index) {
    return std::pair(roots[index].nest, roots[index].level) < std::pair(nest, level);
  });
}

std::optional<RootSet> RootCollector::collect() {
  if (!collectMaterialized() || !collectResults() || !placeRoots() || !storeCostlyValues())
    return std::nullopt;
  return std::move(set);
}

std::optional<RootSet> mlir::epl::collectRoots(KernelOp kernel) { return RootCollector(kernel).collect(); }
