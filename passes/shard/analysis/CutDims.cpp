//===- CutDims.cpp - Dimensions that a program takes apart ----------------===//

#include "passes/shard/analysis/CutDims.h"

#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::epl;

CutDims::CutDims(const FunctionRules &rules) {
  Block &body = rules.getFunction().getBody().front();
  llvm::for_each(body.getArguments(), [&](Value argument) { number(argument); });
  for (Operation &op : body)
    llvm::for_each(op.getResults(), [&](Value result) { number(result); });
  classes.grow(size);
  for (Operation &op : body.without_terminator())
    link(&op, rules.getRule(&op));
  linkEnds(rules);
  classes.compress();
  cut.resize(classes.getNumClasses());
  contracted.resize(classes.getNumClasses());
  for (Operation &op : body.without_terminator()) {
    findCuts(&op);
    findContracted(&op, rules.getRule(&op));
  }
}

//===----------------------------------------------------------------------===//
// Which dimensions are one
//===----------------------------------------------------------------------===//

static int64_t getRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

void CutDims::number(Value value) {
  first[value] = size;
  size += getRank(value);
}

/// A constant is made in the size in which each reader wants it: nothing joins through it.
static bool isMadeAnywhere(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isUniform(op);
}

void CutDims::link(Operation *op, const FactorRule &rule) {
  SmallVector<std::optional<unsigned>> known(rule.factors.size());
  auto visit = [&](Value value, ArrayRef<int64_t> factors) {
    if (isMadeAnywhere(value))
      return;
    for (auto [dim, factor] : llvm::enumerate(factors)) {
      if (factor == FactorRule::kBlocked)
        continue;
      unsigned found = first.lookup(value) + dim;
      if (known[factor])
        classes.join(*known[factor], found);
      known[factor] = found;
    }
  };
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
    visit(operand, factors);
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
    visit(result, factors);
}

void CutDims::join(Value a, Value b) {
  for (int64_t dim = 0; dim < getRank(a); ++dim)
    classes.join(first.lookup(a) + dim, first.lookup(b) + dim);
}

void CutDims::linkEnds(const FunctionRules &rules) {
  Block &body = rules.getFunction().getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (Value update = rules.getUpdate(argument); update && !isMadeAnywhere(update))
      join(argument, update);
  for (auto last : body.getOps<LoopLastOp>())
    if (LoopCarryOp carry = rules.getLoops().getCarry(last))
      join(carry.getResult(), last.getOperand());
}

//===----------------------------------------------------------------------===//
// What is done along them
//===----------------------------------------------------------------------===//

/// Single rows of several.
void CutDims::cutWhere(Value whole, int64_t dim, int64_t rows) {
  if (rows == 1 && cast<RankedTensorType>(whole.getType()).getDimSize(dim) > 1)
    cut.set(getClass(whole, dim));
}

void CutDims::findCuts(Operation *op) {
  if (auto model = dyn_cast<ShardableOp>(op))
    for (const Cut &cut : model.getCuts())
      cutWhere(cut.whole, cut.dim, cut.size);
}

/// A norm sums over all dimensions alike and says nothing of one.
void CutDims::findContracted(Operation *op, const FactorRule &rule) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!work || work.getKind() != WorkKind::apply || !generic || generic.getNumParallelLoops() == 0)
    return;
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
    for (auto [dim, factor] : llvm::enumerate(factors))
      if (factor != FactorRule::kBlocked && rule.isReduction(factor))
        contracted.set(getClass(operand, dim));
}
