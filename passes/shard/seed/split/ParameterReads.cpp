//===- ParameterReads.cpp - Where a step multiplies by a parameter --------===//

#include "passes/shard/seed/split/ParameterReads.h"

using namespace mlir;
using namespace mlir::epl;

/// Whether the op does nothing but move or convert the elements of one tensor.
static bool isMove(Operation *op) {
  return llvm::count_if(op->getOperands(),
                        [](Value operand) {
                          Operation *source = operand.getDefiningOp();
                          return isa<RankedTensorType>(operand.getType()) && !(source && isUniform(source));
                        }) == 1 &&
         getCapturedTensors(op).empty();
}

static bool isForward(Operation *op) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  return !work || work.getKind() == WorkKind::forward;
}

/// What `dims` says of each dimension of an operand, for the dimensions of a result that share its factors,
/// if those can be sharded.
static SmallVector<int64_t> followDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> operandFactors,
                                       ArrayRef<int64_t> resultFactors,
                                       function_ref<bool(int64_t)> canShard) {
  return llvm::map_to_vector(resultFactors, [&](int64_t factor) -> int64_t {
    const auto *dim = llvm::find(operandFactors, factor);
    bool isShared = dim != operandFactors.end() && canShard(factor);
    return isShared ? dims[dim - operandFactors.begin()] : -1;
  });
}

void mlir::epl::walkReads(const FunctionRules &rules, AxisAttr axis, BlockArgument argument,
                          function_ref<bool(Operation *)> isContraction,
                          function_ref<void(const ParameterRead &)> found) {
  using Dims = SmallVector<int64_t>; // of a moved tensor: the argument's dimension that each one is, or -1
  Block *body = argument.getOwner();
  int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
  SmallVector<std::pair<Value, Dims>> moved = {{argument, llvm::to_vector(llvm::seq<int64_t>(rank))}};
  while (!moved.empty()) {
    auto [value, dims] = moved.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      bool isInList = op->getBlock() == body && !op->hasTrait<OpTrait::IsTerminator>();
      if (!isInList || !isForward(op) || rules.getUse(op, axis) == AxisUse::batch)
        continue;
      const FactorRule &rule = rules.getRule(op);
      ArrayRef<int64_t> factors = rule.operands[use.getOperandNumber()];
      auto canShard = [&](int64_t factor) { return rules.canShard(op, factor, axis); };
      if (isContraction(op) || isa<GatherOp>(op))
        found({op, dims, factors});
      else if (isMove(op))
        for (auto [result, resultFactors] : llvm::zip_equal(op->getResults(), rule.results))
          moved.push_back({result, followDims(dims, factors, resultFactors, canShard)});
    }
  }
}

std::string mlir::epl::getKindName(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  std::string name;
  for (char c : describeArgument(function, argument.getArgNumber()))
    if (!llvm::isDigit(c))
      name += c;
    else if (name.empty() || name.back() != '#')
      name += '#';
  return name;
}
