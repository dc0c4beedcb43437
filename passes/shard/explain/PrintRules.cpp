//===- PrintRules.cpp - Factor rules as text ------------------------------===//

#include "passes/shard/analysis/Rules.h"

using namespace mlir;
using namespace mlir::epl;

static void printDims(raw_ostream &os, ArrayRef<SmallVector<int64_t>> values) {
  auto printDim = [&](int64_t factor) {
    if (factor == FactorRule::kBlocked)
      os << "_";
    else
      os << "d" << factor;
  };
  os << "(";
  llvm::interleaveComma(values, os, [&](ArrayRef<int64_t> dims) {
    os << "[";
    llvm::interleaveComma(dims, os, printDim);
    os << "]";
  });
  os << ")";
}

void mlir::epl::printRule(raw_ostream &os, const FactorRule &rule) {
  printDims(os, rule.operands);
  os << " -> ";
  printDims(os, rule.results);
  SmallVector<int64_t> reductions;
  for (int64_t factor = 0; factor < static_cast<int64_t>(rule.factors.size()); ++factor)
    if (rule.isReduction(factor) &&
        llvm::any_of(rule.operands, [&](ArrayRef<int64_t> dims) { return llvm::is_contained(dims, factor); }))
      reductions.push_back(factor);
  if (reductions.empty())
    return;
  os << " reduces ";
  llvm::interleaveComma(reductions, os, [&](int64_t factor) { os << "d" << factor; });
  os << " by ";
  llvm::interleaveComma(rule.reductions, os, [&](ReductionKind kind) { os << stringifyReductionKind(kind); });
}
