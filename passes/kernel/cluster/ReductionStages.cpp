//===- ReductionStages.cpp - Stages round the reductions in memory ---------------===//
//
// Problem: a reduction whose results stay in memory adds to what is there. And a sum of many rows, added one
// after another, has a rounding error that grows with their number.
//
// Method: a stage before the reduction stores its init where the results are. A long sum adds a block of rows
// to a value of its own, and these to the result: the error grows with the size of a block and the number of
// blocks. Compare the blocked summation in Higham, "The accuracy of floating point summation", 1993.
//
// In: traced stages with their rows. Out: init stages, and `blocks` of those that need some.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cluster/FusionPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::epl;

// Fewer rows are added one after another: the error is no larger than that of their blocks would be.
static constexpr int64_t kLongSum = 1024;

// Whether each row of the nest adds to the results of `root`.
static bool addsAcrossRows(const Stage &stage, const Root &root) {
  return root.isAccumulating() && stage.rowRank > 0;
}

// A root that stores `source` where the results of a reduction are.
static Root makeRoot(const Stage &stage, const Root &reduction, unsigned result, Value source) {
  Root root;
  root.values = {reduction.values[result]};
  root.source = source;
  root.stores = {StridedAccess{reduction.stores[result].offset, {}}};
  for (auto [dim, size] : llvm::enumerate(stage.domain)) {
    if (reduction.reduced[dim])
      continue;
    root.domain.push_back(size);
    root.stores[0].strides.push_back(reduction.stores[result].strides[dim]);
  }
  root.sourceAccess = root.stores[0];
  root.reduced.assign(root.domain.size(), false);
  root.nest = reduction.nest;
  root.level = reduction.level;
  return root;
}

// A stage that stores `root` where `reduction` has results, or nothing if only the general form fits.
static std::optional<Stage> makeStage(FusionPlan &plan, Nest &nest, const Stage &stage, const Root &reduction,
                                      Root root) {
  Stage made;
  made.stored = stage.stored;
  made.stored.insert_range(reduction.values);
  made.expressions = traceRoot(root, made.stored);
  if (!made.expressions)
    return std::nullopt;
  bool isOutside = addsAcrossRows(stage, reduction) || stage.rowRank == 0;
  made.domain = root.domain;
  made.rowRank = isOutside ? 0 : getRowRank(root, nest.rows);
  made.roots.push_back(std::move(root));
  if (plan.form != Form::column) {
    collapse(made);
    return made;
  }
  // A slice of the kernel is some columns: both loops must be over the same ones.
  collapse(made, stage.domain.back());
  return made.domain.back() == stage.domain.back() ? std::optional(std::move(made)) : std::nullopt;
}

bool mlir::epl::addInitStages(FusionPlan &plan, Nest &nest) {
  std::vector<Stage> stages;
  for (Stage &stage : nest.stages) {
    for (Root &root : stage.roots) {
      if (!root.reduction || isReducedInRegisters(stage, root))
        continue;
      for (auto [result, init] : llvm::enumerate(root.reduction.getDpsInits())) {
        auto made = makeStage(plan, nest, stage, root, makeRoot(stage, root, result, init));
        if (!made)
          return false;
        (addsAcrossRows(stage, root) ? nest.prologue : stages).push_back(std::move(*made));
      }
    }
    stages.push_back(std::move(stage));
  }
  nest.stages = std::move(stages);
  return true;
}

// Whether many rows are added to the result one after another, in one loop.
static bool isLongSum(const Nest &nest, const Stage &stage, const Root &root, unsigned result) {
  if (!root.reduction || isReducedInRegisters(stage, root) ||
      !isa_and_nonnull<arith::AddFOp>(matchCombiner(root.reduction, result)))
    return false;
  if (addsAcrossRows(stage, root))
    return nest.rows > kLongSum;
  size_t dim = stage.rowRank;
  return stage.domain.size() == dim + 2 && root.reduced[dim] && stage.domain[dim] > kLongSum;
}

// Lets `root` add to the sum of a block instead of its result.
static void addBlocks(FusionPlan &plan, Nest &nest, Stage &stage, Root &root, unsigned result) {
  Value total = root.values[result];
  auto type = cast<RankedTensorType>(total.getType());
  ImplicitLocOpBuilder b(total.getLoc(), root.reduction);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
  Value sum = tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  b.setInsertionPointAfter(root.reduction);
  Value added = arith::AddFOp::create(b, total, sum);
  Root add = makeRoot(stage, root, result, added);
  root.values[result] = sum;
  BlockStages &blocks = addsAcrossRows(stage, root) ? nest.blocks : stage.blocks;
  // What stores the init has the same domain and accesses, so that these can be made, too.
  blocks.clear.push_back(*makeStage(plan, nest, stage, root, makeRoot(stage, root, result, zero)));
  blocks.add.push_back(*makeStage(plan, nest, stage, root, std::move(add)));
}

void mlir::epl::addBlockStages(FusionPlan &plan, Nest &nest) {
  for (Stage &stage : nest.stages)
    for (Root &root : stage.roots)
      for (unsigned result = 0; result < root.values.size(); ++result)
        if (isLongSum(nest, stage, root, result))
          addBlocks(plan, nest, stage, root, result);
}
