//===- FactorRule.cpp - What sharding an op allows ------------------------===//

#include "passes/shard/analysis/FactorRule.h"

using namespace mlir;
using namespace mlir::epl;

/// The rank of a tensor, 0 of everything else.
static int64_t getRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

void FactorRule::link(ArrayRef<Dim> dims, utils::IteratorType iterator) {
  for (Dim ref : dims)
    ref.dims[ref.dim] = factors.size();
  factors.push_back(iterator);
}

void FactorRule::linkAll(int64_t dim) {
  SmallVector<Dim> dims;
  for (auto *side : {&operands, &results})
    for (SmallVector<int64_t> &entry : *side)
      dims.push_back({entry, dim});
  link(dims);
}

void FactorRule::linkSlice(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, RankedTensorType wholeType,
                           const llvm::SmallBitVector &dropped, ArrayRef<SmallVector<int64_t> *> wholes,
                           SmallVector<int64_t> &part) {
  int64_t partDim = 0;
  for (int64_t dim = 0; dim < wholeType.getRank(); ++dim) {
    if (dropped.test(dim))
      continue;
    if (sizes[dim] == wholeType.getDimSize(dim) && strides[dim] == 1) {
      SmallVector<Dim> dims = {{part, partDim}};
      for (SmallVector<int64_t> *whole : wholes)
        dims.push_back({*whole, dim});
      link(dims);
    }
    ++partDim;
  }
}

FactorRule mlir::epl::getBlockedRule(Operation *op) {
  FactorRule rule;
  for (Value operand : op->getOperands())
    rule.operands.emplace_back(getRank(operand), FactorRule::kBlocked);
  for (Value result : op->getResults())
    rule.results.emplace_back(getRank(result), FactorRule::kBlocked);
  rule.reductions.assign(op->getNumResults(), ReductionKind::sum);
  return rule;
}

FactorRule mlir::epl::getPointwiseRule(Operation *op, int64_t except) {
  FactorRule rule = getBlockedRule(op);
  for (int64_t dim = 0; dim < getRank(op->getResult(0)); ++dim)
    if (dim != except)
      rule.linkAll(dim);
  return rule;
}

FactorRule mlir::epl::getSameShapeRule(Operation *op) {
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  bool isPointwise =
      result && op->getNumResults() == 1 && llvm::all_of(op->getOperandTypes(), [&](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && tensor.getShape() == result.getShape();
      });
  return isPointwise ? getPointwiseRule(op) : getBlockedRule(op);
}

llvm::hash_code mlir::epl::hash_value(const FactorRule &rule) {
  auto hashAll = [](ArrayRef<SmallVector<int64_t>> lists) {
    llvm::hash_code hash = lists.size();
    for (const SmallVector<int64_t> &list : lists)
      hash = llvm::hash_combine(hash, ArrayRef(list));
    return hash;
  };
  return llvm::hash_combine(ArrayRef(rule.factors), hashAll(rule.operands), hashAll(rule.results),
                            ArrayRef(rule.reductions), ArrayRef(rule.lookups));
}
