//===- StepCost.cpp - What a choice of shardings costs --------------------===//

#include "passes/shard/analysis/StepCost.h"

#include "dialect/Machine.h"
#include "passes/shard/analysis/AxisPlacement.h"
#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::epl;

std::optional<int64_t> mlir::epl::countMultiplyAdds(Operation *op) {
  auto model = dyn_cast<ShardableOp>(op);
  if (int64_t count = model ? model.countMultiplyAdds() : 0)
    return count;
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  if (!linalg || (!linalg::isaContractionOpInterface(linalg) && !linalg::isaConvolutionOpInterface(linalg)))
    return std::nullopt;
  int64_t volume = 1;
  for (int64_t extent : linalg.getStaticLoopRanges())
    volume *= ShapedType::isDynamic(extent) ? 1 : extent;
  return volume;
}

/// As multiply-adds of f32 that take the same time: one at least, and not more than what can be added up.
static int64_t getWeighted(MachineAttr machine, int64_t multiplyAdds, Type type) {
  static constexpr double kMost = double(int64_t(1) << 50);
  int64_t rate = getMultiplyAddsPerSecond(machine, type), reference = machine.getCompute().getF32();
  if (rate == reference)
    return multiplyAdds;
  return int64_t(std::clamp(double(multiplyAdds) * double(reference) / double(rate), 1.0, kMost));
}

StepCosts::StepCosts(const FunctionRules &rules) : rules(rules) {
  MachineAttr machine = getMachine(rules.getFunction());
  multiplyAddsPerByte = getMultiplyAddsPerByte(machine);
  for (Operation &op : rules.getFunction().getBody().front())
    if (std::optional<int64_t> volume = countMultiplyAdds(&op))
      contractions[&op] = getWeighted(machine, *volume * rules.getLoops().getTripCount(op.getResult(0)),
                                      op.getOperand(0).getType());
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
  StepCost cost = {0, 0, multiplyAddsPerByte};
  for (auto [op, volume] : contractions) {
    auto has = [contraction = op](const DenseSet<Operation *> *other) {
      return other->contains(contraction);
    };
    bool isSplit = program.getChoice(op) != FactorRule::kBlocked || llvm::any_of(others, has);
    cost.multiplyAdds += isSplit ? volume / axis.getSize() : volume;
  }
  cost.bytes = AxisPlacement(rules, axis, program).getTraffic();
  return cost;
}
