//===- FusionPlan.h - How a kernel becomes fused loops -------------*- C++ -*-===//
//
// The loops of a kernel, before any code and for no target. A softmax over the rows of x: 128 x 64:
//
//   FusionPlan, form row      threads share the rows
//     Nest, 128 rows          for each row i:
//       Stage 64                for j: m = max(m, x[i, j])                         root m, a reduction
//       Stage 64                for j: e[j] = exp(x[i, j] - m), s = s + e[j]       roots e and s
//       Stage 64                for j: y[i, j] = e[j] / s                          root y, the result
//
// A root is a value that is stored (Roots.h); all others live in registers, as parts of its expression
// (Expression.h). Stages of one nest share the loop over rows, since each reads only what the row has stored.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/cluster/Roots.h"

namespace mlir::epl {

struct Stage;

/// What long sums need, which add a block of rows at a time: stages that clear the sum of a block before it,
/// and stages that add it to the result behind it.
struct BlockStages {
  std::vector<Stage> clear, add;
};

/// One loop nest over one domain: it computes some roots together. The first `rowRank` dimensions are the
/// rows'.
struct Stage {
  Extents domain;
  size_t rowRank = 0;
  std::vector<Root> roots;
  DenseSet<Value> stored; // read from memory, not computed again
  std::unique_ptr<Expressions> expressions;
  BlockStages blocks;

  int64_t getVolume() const;
  /// Every access of the stage.
  void forEachAccess(function_ref<void(StridedAccess &)> visit);
};

/// Stages that share a loop over rows: each computes its part of row i before the next one starts.
struct Nest {
  int64_t rows = 1;
  std::vector<Stage> prologue; // once, before the rows
  std::vector<Stage> stages;
  BlockStages blocks; // of sums over the rows themselves
};

/// How the outer loop of a kernel is cut into slices.
enum class Form {
  flat,   // elements; each nest has its own range of the concatenated elements
  row,    // rows
  column, // blocks of columns; every slice runs over all rows
};

struct FusionPlan {
  Form form;
  std::vector<Nest> nests;
  /// Values of one element that depend on no loop: the first slice stores them.
  std::vector<Stage> scalars;
  /// Values that are kept in memory between stages, but are no results.
  SmallVector<Value> temporaries;
  int64_t extent = 1;
};

/// Columns in a block of the column form: no cut may be finer, or each slice would hold a fraction of a
/// vector.
constexpr int64_t kColumnBlock = 16;

/// Plans the loops of a kernel. Nothing if only the general form fits. `inParts` plans for many threads, each
/// of which adds up a part of what sums over rows are made of: there are no slices of columns, no blocks of
/// rows, and a row of which all is summed up becomes several.
std::unique_ptr<FusionPlan> planFusion(KernelOp kernel, bool inParts = false);

/// The binary op that adds a term to result `result` of a reduction; null if the payload is more than such
/// ops.
Operation *matchCombiner(linalg::LinalgOp reduction, unsigned result);
/// Whether the innermost loop of `stage` keeps the result of `root` in registers; if not, it adds to memory.
bool isReducedInRegisters(const Stage &stage, const Root &root);
/// Adds the stages that store what the reductions in memory begin with. False if only the general form fits.
bool addInitStages(FusionPlan &plan, Nest &nest);
/// Lets long sums in memory add a block of rows at a time. Needs the init stages.
void addBlockStages(FusionPlan &plan, Nest &nest);

/// Makes dimensions that all accesses step through together one, but for rows and the loops inside a row,
/// which stay apart. The innermost loop becomes no longer than `longest`.
void collapse(Stage &stage, int64_t longest = std::numeric_limits<int64_t>::max());
/// The number of leading dimensions whose extents multiply to `rows`, or -1.
int64_t getRowRank(const Root &root, int64_t rows);
/// Whether row i of `rows` touches only row i of a value of `numElements` elements.
bool staysInRow(const StridedAccess &access, ArrayRef<int64_t> domain, size_t rowRank, int64_t rows,
                int64_t numElements);

} // namespace mlir::epl
