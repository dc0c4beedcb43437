//===- StepCost.cpp - What a choice of shardings costs --------------------===//

#include "passes/shard/StepCost.h"

#include "passes/shard/AxisPlacement.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::epl;

StepCosts::StepCosts(const FunctionRules &rules) : rules(rules) {
  for (auto linalg : rules.getFunction().getBody().front().getOps<linalg::LinalgOp>()) {
    Operation *op = linalg;
    if (!linalg::isaContractionOpInterface(linalg) && !linalg::isaConvolutionOpInterface(linalg))
      continue;
    int64_t volume = rules.getLoops().getTurns(op->getResult(0));
    for (int64_t extent : linalg.getStaticLoopRanges())
      volume *= ShapedType::isDynamic(extent) ? 1 : extent;
    contractions[op] = volume;
  }
}

DenseSet<Operation *> StepCosts::getSplit(const Propagation &program) const {
  DenseSet<Operation *> split;
  for (Operation *op : llvm::make_first_range(contractions))
    if (program.getChoice(op) != FactorRule::kBlocked)
      split.insert(op);
  return split;
}

StepCost StepCosts::get(const Propagation &program, AxisAttr axis,
                        ArrayRef<const DenseSet<Operation *> *> others) const {
  StepCost cost = {0, 0};
  for (auto [op, volume] : contractions) {
    auto has = [contraction = op](const DenseSet<Operation *> *other) {
      return other->contains(contraction);
    };
    bool isSplit = program.getChoice(op) != FactorRule::kBlocked || llvm::any_of(others, has);
    cost.multiplyAdds += isSplit ? volume / axis.getSize() : volume;
  }
  cost.bytes = AxisPlacement(rules, axis, [&](Value value) { return program.getState(value); }).getTraffic();
  return cost;
}
