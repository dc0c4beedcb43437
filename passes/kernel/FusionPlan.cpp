//===- FusionPlan.cpp - How a kernel becomes fused loops -------------------------===//
//
// Problem: a kernel holds elementwise ops, broadcasts and reductions that feed each other. Which of them
// share a loop, what lies in memory between loops, and how can threads share the outermost loop?
//
// Method:
//  1. Roots: results and reductions are stored; all other values are computed where they are used. A costly
//     value (exp, tanh, ...) that several loops would compute again becomes a root too.
//  2. A root that reads a reduction comes after it: at a later level of the same row, or in a later nest if
//     the reduction runs over the rows themselves.
//  3. Roots of one level with the same domain form a stage: one loop that computes them together.
//  4. A nest's rows are the longest prefix of its domains along which every stage reads only what the row
//     itself has stored. No common prefix: one row, each stage runs over all of its domain.
//  5. Dimensions that all accesses of a stage step through together become one.
//
// Invariant out: running the nests in order, rows in any order, stages in order, computes the kernel.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/FusionPlan.h"

#include "passes/kernel/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::epl;

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

static int64_t getNumElements(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
}

int64_t Stage::getVolume() const { return product(domain); }

void Stage::forEachAccess(function_ref<void(StridedAccess &)> visit) {
  for (Element &node : expressions->getNodes()) {
    if (node.kind == Element::Kind::load)
      visit(node.access);
    llvm::for_each(node.loops, visit);
  }
  for (Root &root : roots) {
    llvm::for_each(root.stores, visit);
    llvm::for_each(root.loops, visit);
  }
}

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

// Sums of narrow floats round at each step, so their order matters more than their speed.
bool mlir::epl::isVectorReducible(const Root &root) {
  return matchCombiner(root.reduction, 0) && llvm::none_of(root.values, [](Value value) {
           Type element = getElementTypeOrSelf(value);
           return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
         });
}

bool mlir::epl::isReducedInRegisters(const Stage &stage, const Root &root) {
  bool acrossRows = stage.rowRank > 0 && root.isAccumulating();
  return root.reduction && !acrossRows && stage.domain.size() == stage.rowRank + 1 && root.reduced.back() &&
         isVectorReducible(root);
}

// The innermost dimensions that every access steps through as through one begin here.
static size_t getInnermostRun(Stage &stage) {
  size_t begin = stage.domain.empty() ? 0 : stage.domain.size() - 1;
  auto continues = [&](size_t dim) {
    bool uniform =
        llvm::all_of(stage.roots, [&](Root &root) { return root.reduced[dim] == root.reduced[dim + 1]; });
    stage.forEachAccess([&](StridedAccess &access) {
      uniform &= access.strides[dim] == access.strides[dim + 1] * stage.domain[dim + 1];
    });
    return uniform;
  };
  while (begin > 0 && continues(begin - 1))
    --begin;
  return begin;
}

namespace {

class Planner {
public:
  explicit Planner(KernelOp kernel) : kernel(kernel) {}
  std::unique_ptr<FusionPlan> plan();

private:
  bool collectRoots();
  bool assignLevels();
  void storeCostlyValues();
  bool buildStages();
  bool planFlat();
  bool planColumns();
  bool planRows();
  bool addInitStages(Nest &nest);

  Root makeElementwise(Value value);
  Root makeReduction(linalg::LinalgOp op);
  /// Traces a root over its domain, splitting dimensions as views need it.
  std::unique_ptr<Expressions> trace(Root &root, const DenseSet<Value> &stored);
  LogicalResult traceNodes(Root &root, Expressions &expressions);
  int64_t chooseRows(Nest &nest);
  bool isRowLocal(const Nest &nest, int64_t rows);

  KernelOp kernel;
  std::vector<Root> roots;
  DenseMap<Value, size_t> rootOf; // the root that stores a value
  DenseSet<Value> reductions, results;
  DenseMap<Operation *, std::set<std::pair<unsigned, unsigned>>> placesOfCostly; // nest and level
  DenseSet<Value> storedCostly;
  int64_t maxVolume = 1;
  std::unique_ptr<FusionPlan> result = std::make_unique<FusionPlan>();
};

} // namespace

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

Root Planner::makeElementwise(Value value) {
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
Root Planner::makeReduction(linalg::LinalgOp op) {
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

bool Planner::collectRoots() {
  Block &body = kernel.getBody().front();
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  for (Operation &op : body.without_terminator())
    if (llvm::none_of(op.getResultTypes(), isTensor) && llvm::any_of(op.getOperandTypes(), isTensor))
      return false;
  for (auto op : body.getOps<linalg::LinalgOp>()) {
    if (!op.hasPureTensorSemantics() || llvm::any_of(op.getStaticLoopRanges(), ShapedType::isDynamic))
      return false;
    if (op.getNumReductionLoops() == 0)
      continue;
    auto isProjection = [&](OpResult value) {
      return op.getIndexingMapMatchingResult(value).isProjectedPermutation();
    };
    if (!isVectorizable(*op.getBlock()) || !llvm::all_of(op->getResults(), isProjection))
      return false;
    roots.push_back(makeReduction(op));
    for (Value value : op->getResults()) {
      rootOf[value] = roots.size() - 1;
      reductions.insert(value);
    }
  }
  for (Value operand : body.getTerminator()->getOperands()) {
    Value value = stripViews(operand);
    if (!results.insert(value).second)
      return false;
    if (reductions.contains(value))
      continue;
    rootOf[value] = roots.size();
    roots.push_back(makeElementwise(value));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

LogicalResult Planner::traceNodes(Root &root, Expressions &expressions) {
  root.nodes.clear();
  root.inits.clear();
  auto keep = [](FailureOr<ElementRef> node, SmallVector<ElementRef> &nodes) -> LogicalResult {
    if (succeeded(node))
      nodes.push_back(*node);
    return node;
  };
  if (!root.reduction)
    return keep(root.init ? expressions.trace(root.init, root.stores[0])
                          : expressions.traceDefinition(root.values[0], root.stores[0]),
                root.nodes);
  for (OpOperand *input : root.reduction.getDpsInputOperands()) {
    if (!root.reduction.payloadUsesValueFromOperand(input))
      root.nodes.push_back({});
    else if (failed(keep(expressions.traceOperand(root.reduction, *input, root.loops), root.nodes)))
      return failure();
  }
  for (auto [init, store] : llvm::zip_equal(root.reduction.getDpsInits(), root.stores))
    if (failed(keep(expressions.trace(init, store), root.inits)))
      return failure();
  return success();
}

static void splitDim(Root &root, Split split) {
  auto splitAccess = [&](StridedAccess &access) {
    int64_t stride = access.strides[split.dim];
    access.strides[split.dim] = stride * split.inner;
    access.strides.insert(access.strides.begin() + split.dim + 1, stride);
  };
  llvm::for_each(root.stores, splitAccess);
  llvm::for_each(root.loops, splitAccess);
  root.domain[split.dim] /= split.inner;
  root.domain.insert(root.domain.begin() + split.dim + 1, split.inner);
  root.reduced.insert(root.reduced.begin() + split.dim, bool(root.reduced[split.dim]));
}

std::unique_ptr<Expressions> Planner::trace(Root &root, const DenseSet<Value> &stored) {
  for (unsigned attempt = 0; attempt < 8; ++attempt) {
    auto expressions = std::make_unique<Expressions>(root.domain, stored);
    if (succeeded(traceNodes(root, *expressions)))
      return expressions;
    if (!expressions->getSplit())
      return nullptr;
    splitDim(root, *expressions->getSplit());
  }
  return nullptr;
}

// The order of a reduction's loops that walks its largest operand through memory. Of several the one that
// makes the innermost loop parallel wins: vectors of results need no sum across lanes.
static SmallVector<size_t> chooseOrder(const Root &root, Expressions &expressions) {
  const StridedAccess *primary = nullptr;
  std::pair<int64_t, bool> best(-1, false);
  for (Element &node : expressions.getNodes()) {
    if (node.kind != Element::Kind::load)
      continue;
    int64_t numDims = llvm::count_if(node.access.strides, [](int64_t stride) { return stride != 0; });
    const auto *unit = llvm::find(node.access.strides, 1);
    bool parallel = unit != node.access.strides.end() && !root.reduced[unit - node.access.strides.begin()];
    if (std::pair(numDims, parallel) > best) {
      best = {numDims, parallel};
      primary = &node.access;
    }
  }
  SmallVector<std::pair<int64_t, size_t>> keys; // dimensions that it does not have come first
  for (size_t dim = 0; dim < root.domain.size(); ++dim) {
    int64_t stride = primary ? std::abs(primary->strides[dim]) : 0;
    keys.emplace_back(stride ? -stride : INT64_MIN, dim);
  }
  llvm::sort(keys);
  return llvm::map_to_vector(keys, [](auto &key) { return key.second; });
}

static void permute(Root &root, ArrayRef<size_t> order) {
  auto permuteValues = [&](auto &values) {
    auto old = values;
    for (auto [to, from] : llvm::enumerate(order))
      values[to] = old[from];
  };
  permuteValues(root.domain);
  permuteValues(root.reduced);
  for (StridedAccess &access : root.stores)
    permuteValues(access.strides);
  for (StridedAccess &access : root.loops)
    permuteValues(access.strides);
}

//===----------------------------------------------------------------------===//
// Levels
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

// Reductions stand in the order of the kernel's ops, elementwise results behind them, so what a root reads is
// placed before the root.
bool Planner::assignLevels() {
  for (Root &root : roots) {
    std::unique_ptr<Expressions> expressions = trace(root, reductions);
    if (expressions && root.reduction) {
      permute(root, chooseOrder(root, *expressions));
      expressions = trace(root, reductions);
    }
    if (!expressions)
      return false;
    maxVolume = std::max(maxVolume, product(root.domain));
    SmallVector<Root *> read;
    for (Element &node : expressions->getNodes())
      if (node.kind == Element::Kind::load && reductions.contains(node.tensor))
        read.push_back(&roots[rootOf[node.tensor]]);
    for (Root *other : read)
      root.nest = std::max(root.nest, other->nest + other->isAccumulating());
    for (Root *other : read)
      if (other->nest == root.nest)
        root.level = std::max(root.level, other->level + 1);
    for (Element &node : expressions->getNodes())
      if (node.kind == Element::Kind::payload && isCostly(node.op))
        placesOfCostly[node.op].insert({root.nest, root.level});
  }
  return true;
}

// A costly value is stored by the first of the loops that use it.
void Planner::storeCostlyValues() {
  for (Operation &op : kernel.getBody().front()) {
    auto places = placesOfCostly.find(&op);
    if (places == placesOfCostly.end() || places->second.size() < 2)
      continue;
    Value value = op.getResult(0);
    if (getNumElements(value) != maxVolume)
      continue;
    if (!rootOf.contains(value)) {
      rootOf[value] = roots.size();
      roots.push_back(makeElementwise(value));
      result->temporaries.push_back(value);
    }
    Root &root = roots[rootOf[value]];
    std::tie(root.nest, root.level) = *places->second.begin();
    storedCostly.insert(value);
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

bool Planner::buildStages() {
  DenseSet<Value> stored;
  // Temporaries are traced first so that their domains are split as their consumers' are.
  std::vector<Stage> stages;
  for (Root &root : roots)
    if (root.nodes.empty() && !trace(root, reductions))
      return false;
  for (Root &root : roots) {
    bool free = root.domain.empty() && !root.reduction && root.nest == 0 && root.level == 0;
    std::vector<Stage> *list = &result->scalars;
    if (!free) {
      result->nests.resize(std::max<size_t>(result->nests.size(), root.nest + 1));
      list = &result->nests[root.nest].stages;
    }
    auto stage = llvm::find_if(*list, [&](Stage &stage) {
      return stage.domain == root.domain && stage.roots[0].level == root.level;
    });
    if (stage == list->end()) {
      list->emplace_back();
      stage = std::prev(list->end());
      stage->domain = root.domain;
    }
    stage->roots.push_back(root);
  }
  auto finish = [&](Stage &stage) {
    auto place = std::pair(stage.roots[0].nest, stage.roots[0].level);
    stage.stored = reductions;
    for (Value value : storedCostly)
      if (Root &root = roots[rootOf[value]]; std::pair(root.nest, root.level) < place)
        stage.stored.insert(value);
    stage.expressions = std::make_unique<Expressions>(stage.domain, stage.stored);
    return llvm::all_of(stage.roots, [&](Root &root) {
      bool traced = succeeded(traceNodes(root, *stage.expressions));
      if (root.reduction)
        dropUnusedLoops(root.reduction, root.loops);
      return traced;
    });
  };
  for (Nest &nest : result->nests) {
    llvm::sort(nest.stages, [](Stage &a, Stage &b) {
      return std::tie(a.roots[0].level, a.domain) < std::tie(b.roots[0].level, b.domain);
    });
    if (!llvm::all_of(nest.stages, finish))
      return false;
  }
  return llvm::all_of(result->scalars, finish);
}

// Merges dimension `dim` and the one inside it if every access steps through both as through one.
static bool collapseDims(Stage &stage, size_t dim) {
  int64_t size = stage.domain[dim + 1];
  bool collapsible =
      llvm::all_of(stage.roots, [&](Root &root) { return root.reduced[dim] == root.reduced[dim + 1]; });
  stage.forEachAccess(
      [&](StridedAccess &access) { collapsible &= access.strides[dim] == access.strides[dim + 1] * size; });
  if (!collapsible)
    return false;
  stage.forEachAccess([&](StridedAccess &access) { access.strides.erase(access.strides.begin() + dim); });
  stage.domain[dim + 1] *= stage.domain[dim];
  stage.domain.erase(stage.domain.begin() + dim);
  for (Root &root : stage.roots) {
    root.reduced.erase(root.reduced.begin() + dim);
    root.domain = stage.domain;
  }
  return true;
}

// Rows and the loops inside a row stay apart.
static void collapse(Stage &stage) {
  for (int64_t dim = int64_t(stage.domain.size()) - 2; dim >= 0; --dim)
    if (size_t(dim) + 1 != stage.rowRank && collapseDims(stage, dim) && size_t(dim) < stage.rowRank)
      --stage.rowRank;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

// Elementwise values whose operands all have the result's layout: no rows at all. Groups of different size
// follow each other in one range of elements.
bool Planner::planFlat() {
  if (!reductions.empty() || result->nests.size() > 1)
    return false;
  std::vector<Nest> nests;
  for (Nest &nest : result->nests)
    for (Stage &stage : nest.stages)
      if (getInnermostRun(stage) != 0)
        return false;
  result->extent = result->nests.empty() ? 1 : 0;
  for (Nest &nest : result->nests)
    for (Stage &stage : nest.stages) {
      collapse(stage);
      result->extent += stage.getVolume();
      nests.emplace_back();
      nests.back().stages.push_back(std::move(stage));
    }
  result->nests = std::move(nests);
  result->form = Form::flat;
  return true;
}

// Every loop ends in the same columns and no value crosses them.
bool Planner::planColumns() {
  int64_t columns = -1;
  bool accumulates = false;
  for (Nest &nest : result->nests)
    for (Stage &stage : nest.stages) {
      size_t run = getInnermostRun(stage);
      int64_t inner = product(ArrayRef(stage.domain).drop_front(run));
      if (stage.domain.empty() || (columns != -1 && columns != inner))
        return false;
      columns = inner;
      auto isColumn = [&](const StridedAccess &access) {
        auto isWhole = [&](int64_t stride) { return stride % columns == 0; };
        return access.strides.back() == 1 && isWhole(access.offset) &&
               llvm::all_of(ArrayRef(access.strides).take_front(run), isWhole);
      };
      for (Root &root : stage.roots) {
        accumulates |= root.isAccumulating();
        if (root.reduced.back() || !llvm::all_of(root.stores, isColumn))
          return false;
      }
      for (Element &node : stage.expressions->getNodes())
        if (node.kind == Element::Kind::load && stage.stored.contains(node.tensor) && !isColumn(node.access))
          return false;
    }
  if (!accumulates)
    return false;
  for (Nest &nest : result->nests)
    llvm::for_each(nest.stages, collapse);
  result->form = Form::column;
  result->extent = llvm::divideCeil(columns, kColumnBlock);
  return true;
}

// The number of leading dimensions whose extents multiply to `rows`, or -1.
static int64_t getRowRank(const Root &root, int64_t rows) {
  int64_t volume = 1;
  for (size_t dim = 0;; ++dim) {
    if (volume == rows)
      return dim;
    if (dim == root.domain.size() || volume > rows || (root.reduced[dim] && !root.isAccumulating()))
      return -1;
    volume *= root.domain[dim];
  }
}

bool mlir::epl::staysInRow(const StridedAccess &access, ArrayRef<int64_t> domain, size_t rowRank,
                           int64_t rows, int64_t numElements) {
  if (numElements % rows != 0)
    return false;
  int64_t size = numElements / rows, low = access.offset, high = access.offset;
  for (auto [dim, stride] : llvm::enumerate(getStrides(domain.take_front(rowRank))))
    if (access.strides[dim] != stride * size)
      return false;
  for (size_t dim = rowRank; dim < domain.size(); ++dim)
    (access.strides[dim] < 0 ? low : high) += access.strides[dim] * (domain[dim] - 1);
  return low >= 0 && high < size;
}

bool Planner::isRowLocal(const Nest &nest, int64_t rows) {
  for (const Stage &stage : nest.stages) {
    int64_t rowRank = getRowRank(stage.roots[0], rows);
    for (const Root &root : stage.roots) {
      if (rowRank < 0 || getRowRank(root, rows) != rowRank)
        return false;
      for (auto [value, store] : llvm::zip_equal(root.values, root.stores))
        if (!root.isAccumulating() && !staysInRow(store, stage.domain, rowRank, rows, getNumElements(value)))
          return false;
    }
    for (Element &node : stage.expressions->getNodes()) {
      if (node.kind != Element::Kind::load || !stage.stored.contains(node.tensor))
        continue;
      bool sameNest = roots[rootOf[node.tensor]].nest == stage.roots[0].nest;
      if (sameNest && !staysInRow(node.access, stage.domain, rowRank, rows, getNumElements(node.tensor)))
        return false;
    }
  }
  return true;
}

int64_t Planner::chooseRows(Nest &nest) {
  auto reducesRows = [](Root &root) { return root.isReducing() && !root.isAccumulating(); };
  bool hasRowReduction =
      llvm::any_of(nest.stages, [&](Stage &stage) { return llvm::any_of(stage.roots, reducesRows); });
  // Without a reduction the innermost dimensions that could be one loop must not become rows of one element.
  int64_t limit = INT64_MAX;
  for (Stage &stage : nest.stages) {
    if (hasRowReduction || stage.getVolume() != maxVolume || stage.domain.empty())
      continue;
    int64_t outer = product(ArrayRef(stage.domain).take_front(getInnermostRun(stage)));
    limit = std::min(limit, outer);
  }
  int64_t best = 1;
  for (Stage &stage : nest.stages)
    for (size_t rank = 1; rank <= stage.domain.size(); ++rank) {
      int64_t rows = product(ArrayRef(stage.domain).take_front(rank));
      if (rows > best && rows <= limit && isRowLocal(nest, rows))
        best = rows;
    }
  return best;
}

// A reduction in memory adds to what the result holds: a stage before it stores the init there.
bool Planner::addInitStages(Nest &nest) {
  std::vector<Stage> stages;
  for (Stage &stage : nest.stages) {
    for (Root &root : stage.roots) {
      if (!root.reduction || isReducedInRegisters(stage, root))
        continue;
      for (auto [value, store, init] :
           llvm::zip_equal(root.values, root.stores, root.reduction.getDpsInits())) {
        Stage prepare;
        prepare.roots.emplace_back();
        Root &initial = prepare.roots.back();
        initial.values = {value};
        initial.init = init;
        initial.stores = {StridedAccess{store.offset, {}}};
        for (size_t dim = 0; dim < stage.domain.size(); ++dim) {
          if (root.reduced[dim])
            continue;
          initial.domain.push_back(stage.domain[dim]);
          initial.stores[0].strides.push_back(store.strides[dim]);
          prepare.rowRank += dim < stage.rowRank;
        }
        initial.reduced.assign(initial.domain.size(), false);
        prepare.domain = initial.domain;
        prepare.stored = stage.stored;
        prepare.expressions = std::make_unique<Expressions>(prepare.domain, prepare.stored);
        if (failed(traceNodes(initial, *prepare.expressions)))
          return false;
        bool acrossRows = root.isAccumulating() && stage.rowRank > 0;
        prepare.rowRank = acrossRows ? 0 : prepare.rowRank;
        collapse(prepare);
        (acrossRows ? nest.prologue : stages).push_back(std::move(prepare));
      }
    }
    stages.push_back(std::move(stage));
  }
  nest.stages = std::move(stages);
  return true;
}

bool Planner::planRows() {
  result->form = Form::row;
  bool slices = result->nests.size() == 1;
  for (Nest &nest : result->nests) {
    nest.rows = chooseRows(nest);
    for (Stage &stage : nest.stages) {
      stage.rowRank = getRowRank(stage.roots[0], nest.rows);
      slices &= llvm::none_of(stage.roots, [](Root &root) { return root.isAccumulating(); });
      collapse(stage);
    }
  }
  result->extent = slices ? result->nests[0].rows : 1;
  return true;
}

std::unique_ptr<FusionPlan> Planner::plan() {
  if (!collectRoots() || !assignLevels())
    return nullptr;
  storeCostlyValues();
  if (!buildStages())
    return nullptr;
  // A form that does not fit leaves stages with fewer dimensions, which means the same.
  if (!planFlat() && !planColumns() && !planRows())
    return nullptr;
  for (Nest &nest : result->nests)
    if (!addInitStages(nest))
      return nullptr;
  return std::move(result);
}

std::unique_ptr<FusionPlan> mlir::epl::planFusion(KernelOp kernel) { return Planner(kernel).plan(); }
