//===- BatchFactors.cpp - Where the samples of the batch are --------------===//

#include "passes/shard/analysis/BatchFactors.h"

#include "dialect/Bytes.h"

using namespace mlir;
using namespace mlir::epl;

/// The batch dimension of an argument, or -1.
static int64_t getBatchDim(func::FuncOp function, unsigned argument) {
  auto dim = function.getArgAttrOfType<IntegerAttr>(argument, EplDialect::kBatchDimAttr);
  return dim ? dim.getInt() : -1;
}

/// A carried value that counts samples makes more values do so: every round finds one more at least.
BatchFactors::BatchFactors(func::FuncOp function, const Loops &loops,
                           function_ref<const FactorRule &(Operation *)> getRule) {
  Block &body = function.getBody().front();
  do {
    dims.clear();
    for (BlockArgument argument : body.getArguments())
      if (int64_t dim = getBatchDim(function, argument.getArgNumber()); dim >= 0)
        dims[argument] = dim;
    for (Operation &op : body.without_terminator())
      visit(op, getRule(&op));
  } while (settleCarries(body, loops));
}

/// Operands vote with their bytes, as they do for shardings; ties go to the lower factor.
int64_t BatchFactors::chooseFactor(Operation &op, const FactorRule &rule) const {
  SmallVector<int64_t> votes(rule.factors.size(), 0), lookups(rule.factors.size(), 0);
  for (auto [operand, operandFactors] : llvm::zip_equal(op.getOperands(), rule.operands)) {
    int64_t dim = getDim(operand);
    int64_t factor = dim < 0 || operandFactors.empty() ? FactorRule::kBlocked : operandFactors[dim];
    if (factor != FactorRule::kBlocked)
      (llvm::is_contained(rule.lookups, factor) ? lookups : votes)[factor] += getBytes(operand);
  }
  if (llvm::all_of(votes, [](int64_t bytes) { return bytes == 0; }))
    votes = lookups;
  auto winner = llvm::max_element(votes);
  return winner == votes.end() || *winner == 0 ? FactorRule::kBlocked : winner - votes.begin();
}

void BatchFactors::visit(Operation &op, const FactorRule &rule) {
  int64_t factor = chooseFactor(op, rule);
  if (auto known = isa<LoopCarryOp>(op) ? carried.find(op.getResult(0)) : carried.end();
      known != carried.end())
    factor = rule.results[0][known->second];
  factors[&op] = factor;
  for (auto [result, resultFactors] : llvm::zip_equal(op.getResults(), rule.results)) {
    auto dim = llvm::find(resultFactors, factor);
    if (factor != FactorRule::kBlocked && dim != resultFactors.end())
      dims[result] = dim - resultFactors.begin();
  }
}

/// What starts without samples may have them from the second iteration on; whether one was found.
bool BatchFactors::settleCarries(Block &body, const Loops &loops) {
  bool changed = false;
  for (auto last : body.getOps<LoopLastOp>()) {
    LoopCarryOp carry = loops.getCarry(last);
    if (!carry || getDim(carry.getResult()) >= 0 || getDim(last.getOperand()) < 0)
      continue;
    changed |= carried.try_emplace(carry.getResult(), getDim(last.getOperand())).second;
  }
  return changed;
}
