//===- FusionPlan.cpp - How a kernel becomes fused loops -------------------------===//
//
// Problem: which of a kernel's roots share a loop, and how can threads share the outermost loop?
//
// Method:
//  1. Roots of one place with the same domain form a stage: one loop that computes them together.
//  2. A nest's rows are the longest prefix of its domains along which every stage reads only what the row
//     itself has stored. No common prefix: one row, each stage runs over all of its domain.
//  3. Dimensions that all accesses of a stage step through together become one.
//
// Invariant out: running the nests in order, rows in any order, stages in order, computes the kernel.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cluster/FusionPlan.h"

#include <numeric>

using namespace mlir;
using namespace mlir::epl;

// Elements of the rows that one long row is cut into.
static constexpr int64_t kLeastPart = 256, kMostPart = 2048;

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

bool mlir::epl::isReducedInRegisters(const Stage &stage, const Root &root) {
  bool acrossRows = stage.rowRank > 0 && root.isAccumulating();
  return root.reduction && !acrossRows && stage.domain.size() == stage.rowRank + 1 && root.reduced.back() &&
         matchCombiner(root.reduction, 0);
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
  Planner(RootSet set, bool inParts) : set(std::move(set)), inParts(inParts) {}
  std::unique_ptr<FusionPlan> plan();

private:
  void formStages();
  bool traceStage(Stage &stage);
  bool planFlat();
  bool planColumns();
  void planRows();
  int64_t chooseRows(Nest &nest);
  bool isRowLocal(const Nest &nest, int64_t rows);
  void cutRow(Nest &nest);

  RootSet set;
  bool inParts;
  std::unique_ptr<FusionPlan> result = std::make_unique<FusionPlan>();
};

} // namespace

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

// Roots of one place with one domain share their loops.
void Planner::formStages() {
  for (Root &root : set.roots) {
    bool free = root.domain.empty() && !root.reduction && !root.source && root.nest == 0 && root.level == 0;
    result->nests.resize(std::max<size_t>(result->nests.size(), free ? 0 : root.nest + 1));
    std::vector<Stage> &stages = free ? result->scalars : result->nests[root.nest].stages;
    auto stage = llvm::find_if(stages, [&](Stage &stage) {
      return stage.domain == root.domain && stage.roots[0].level == root.level;
    });
    if (stage == stages.end()) {
      stages.emplace_back();
      stage = std::prev(stages.end());
      stage->domain = root.domain;
    }
    stage->roots.push_back(root);
  }
  for (Nest &nest : result->nests)
    llvm::sort(nest.stages, [](Stage &a, Stage &b) {
      return std::tie(a.roots[0].level, a.domain) < std::tie(b.roots[0].level, b.domain);
    });
}

bool Planner::traceStage(Stage &stage) {
  stage.stored = set.materialized;
  for (Value value : set.costly)
    if (set.isComplete(value, stage.roots[0].nest, stage.roots[0].level))
      stage.stored.insert(value);
  stage.expressions = std::make_unique<Expressions>(stage.domain, stage.stored);
  return llvm::all_of(stage.roots, [&](Root &root) {
    bool traced = succeeded(traceRoot(root, *stage.expressions));
    if (root.reduction)
      dropUnusedLoops(root.reduction, root.loops);
    return traced;
  });
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

void mlir::epl::collapse(Stage &stage, int64_t longest) {
  for (int64_t dim = int64_t(stage.domain.size()) - 2; dim >= 0; --dim) {
    bool isInner = size_t(dim) + 2 == stage.domain.size();
    bool tooLong = isInner && stage.domain[dim] * stage.domain[dim + 1] > longest;
    if (size_t(dim) + 1 != stage.rowRank && !tooLong && collapseDims(stage, dim) &&
        size_t(dim) < stage.rowRank)
      --stage.rowRank;
  }
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

// Elementwise values whose operands all have the result's layout: no rows at all. Groups of different size
// follow each other in one range of elements.
bool Planner::planFlat() {
  std::vector<Nest> nests;
  for (Nest &nest : result->nests)
    for (Stage &stage : nest.stages) {
      auto isPlain = [](Root &root) { return !root.reduction && root.nest == 0 && root.level == 0; };
      if (getInnermostRun(stage) != 0 || stage.domain.empty() || !llvm::all_of(stage.roots, isPlain))
        return false;
    }
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
      if (stage.domain.empty() || inner == 0 || (columns != -1 && columns != inner))
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
    llvm::for_each(nest.stages, [](Stage &stage) { collapse(stage); });
  result->form = Form::column;
  result->extent = llvm::divideCeil(columns, kColumnBlock);
  return true;
}

int64_t mlir::epl::getRowRank(const Root &root, int64_t rows) {
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
      bool sameNest = set.roots[set.rootsOf[node.tensor][0]].nest == stage.roots[0].nest;
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
    if (hasRowReduction || stage.getVolume() != set.maxVolume || stage.domain.empty())
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

// The length of rows that a row of `size` elements is cut into; 0 if there is none.
static int64_t choosePart(int64_t size) {
  for (int64_t unit : {4, 1}) // vectors, if possible
    for (int64_t part = kMostPart; part >= kLeastPart; part -= unit)
      if (size % part == 0 && size > part)
        return part;
  return 0;
}

// A nest of one row whose loops are all over the same elements, and read nothing that it stores: parts of the
// row may be rows.
void Planner::cutRow(Nest &nest) {
  auto storesHere = [&](Value tensor) {
    auto roots = set.rootsOf.find(tensor);
    return roots != set.rootsOf.end() && set.roots[roots->second[0]].nest == nest.stages[0].roots[0].nest;
  };
  auto readsHere = [&](Element &node) { return node.kind == Element::Kind::load && storesHere(node.tensor); };
  for (Stage &stage : nest.stages) {
    collapse(stage);
    auto isWhole = [](Root &root) { return !root.reduction || root.reduced[0]; };
    if (stage.domain.size() != 1 || stage.domain != nest.stages[0].domain ||
        !llvm::all_of(stage.roots, isWhole) || llvm::any_of(stage.expressions->getNodes(), readsHere))
      return;
  }
  int64_t size = nest.stages[0].domain[0], part = choosePart(size);
  if (part == 0)
    return;
  nest.rows = size / part;
  for (Stage &stage : nest.stages) {
    stage.domain = {nest.rows, part};
    stage.rowRank = 1;
    stage.forEachAccess([&](StridedAccess &access) {
      access.strides.insert(access.strides.begin(), access.strides[0] * part);
    });
    for (Root &root : stage.roots) {
      root.reduced.push_back(root.reduced[0]);
      root.domain = stage.domain;
    }
  }
}

void Planner::planRows() {
  result->form = Form::row;
  bool slices = result->nests.size() == 1;
  for (Nest &nest : result->nests) {
    nest.rows = chooseRows(nest);
    for (Stage &stage : nest.stages) {
      stage.rowRank = getRowRank(stage.roots[0], nest.rows);
      slices &= llvm::none_of(stage.roots, [](Root &root) { return root.isAccumulating(); });
      collapse(stage);
    }
    if (inParts && nest.rows == 1 && !nest.stages.empty())
      cutRow(nest);
  }
  result->extent = slices ? result->nests[0].rows : 1;
}

std::unique_ptr<FusionPlan> Planner::plan() {
  formStages();
  result->temporaries = set.temporaries;
  auto trace = [&](Stage &stage) { return traceStage(stage); };
  if (!llvm::all_of(result->scalars, trace) ||
      !llvm::all_of(result->nests, [&](Nest &nest) { return llvm::all_of(nest.stages, trace); }))
    return nullptr;
  if (!planFlat() && (inParts || !planColumns()))
    planRows();
  if (!llvm::all_of(result->nests, [&](Nest &nest) { return addInitStages(*result, nest); }))
    return nullptr;
  for (Nest &nest : result->nests)
    if (!inParts)
      addBlockStages(*result, nest);
  return std::move(result);
}

// Positions in a value without elements cannot be taken apart.
static bool hasEmptyValue(KernelOp kernel) {
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() == 0;
  };
  return kernel
      .walk([&](Operation *op) {
        bool empty =
            llvm::any_of(op->getOperandTypes(), isEmpty) || llvm::any_of(op->getResultTypes(), isEmpty);
        return empty ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

std::unique_ptr<FusionPlan> mlir::epl::planFusion(KernelOp kernel, bool inParts) {
  if (hasEmptyValue(kernel))
    return nullptr;
  std::optional<RootSet> roots = collectRoots(kernel);
  return roots ? Planner(std::move(*roots), inParts).plan() : nullptr;
}
