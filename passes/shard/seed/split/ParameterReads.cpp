//===- ParameterReads.cpp - Where a step multiplies by a parameter --------===//

#include "passes/shard/seed/split/ParameterReads.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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
        found({op, use.getOperandNumber(), dims, factors});
      else if (isMove(op))
        for (auto [result, resultFactors] : llvm::zip_equal(op->getResults(), rule.results))
          moved.push_back({result, followDims(dims, factors, resultFactors, canShard)});
    }
  }
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// What an op does, whatever the extents of its operands.
static llvm::hash_code describeOp(Operation *op) {
  llvm::hash_code hash = llvm::hash_value(op->getName().getAsOpaquePointer());
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
    hash = llvm::hash_combine(hash, linalg.getIndexingMaps());
  op->walk([&](Operation *inner) {
    hash = llvm::hash_combine(hash, inner->getName().getAsOpaquePointer(), inner->getNumOperands());
  });
  return hash;
}

/// The same, in whatever order they were found and however often.
static llvm::hash_code combineSet(SmallVector<size_t> hashes) {
  llvm::sort(hashes);
  hashes.erase(llvm::unique(hashes), hashes.end());
  return llvm::hash_combine_range(hashes);
}

ParameterUses::ParameterUses(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> parameters,
                             function_ref<bool(Operation *)> isContraction)
    : body(rules.getFunction().getBody().front()) {
  for (Operation *op : rules.getOps())
    if (isContraction(op))
      contractions.insert(op);
  auto walk = [&](BlockArgument parameter, function_ref<void(const ParameterRead &)> found) {
    walkReads(rules, axis, parameter, isContraction, found);
  };
  for (BlockArgument parameter : parameters)
    walk(parameter, [&](const ParameterRead &read) { products.insert(read.op); });
  for (BlockArgument parameter : parameters) {
    SmallVector<size_t> reads;
    walk(parameter, [&](const ParameterRead &read) { reads.push_back(describe(read)); });
    uses.try_emplace(parameter, combineSet(reads));
  }
}

llvm::hash_code ParameterUses::describe(const ParameterRead &read) const {
  return llvm::hash_combine(describeOp(read.op), read.operand, llvm::hash_combine_range(read.dims),
                            describeReaders(read.op), describeOther(read));
}

/// The ops of the forward work that read a product, through ops that only move its elements.
llvm::hash_code ParameterUses::describeReaders(Operation *product) const {
  SmallVector<size_t> readers;
  SmallVector<Value> values(product->getResults());
  while (!values.empty())
    for (OpOperand &use : values.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != &body || user->hasTrait<OpTrait::IsTerminator>() || !isForward(user))
        continue;
      if (isMove(user) && !contractions.contains(user) && isa<tensor::TensorDialect>(user->getDialect()))
        llvm::append_range(values, user->getResults());
      else
        readers.push_back(llvm::hash_combine(describeOp(user), use.getOperandNumber()));
    }
  return combineSet(readers);
}

/// Whether a value is what a gather reads, through ops that only move its elements.
static bool isGathered(Value value) {
  Operation *maker = value.getDefiningOp();
  while (maker && isMove(maker) && !isa<GatherOp>(maker))
    maker = maker->getOperand(0).getDefiningOp();
  return isa_and_nonnull<GatherOp>(maker);
}

llvm::hash_code ParameterUses::describeOther(const ParameterRead &read) const {
  bool gathered = llvm::any_of(read.op->getOpOperands(), [&](OpOperand &operand) {
    return operand.getOperandNumber() != read.operand && isGathered(operand.get());
  });
  return llvm::hash_combine(gathered, describeMakers(read));
}

/// The product of activations that the other factor is made by, if the nearest product is one.
llvm::hash_code ParameterUses::describeMakers(const ParameterRead &read) const {
  SmallVector<Operation *> level;
  DenseSet<Operation *> seen;
  auto add = [&](Value value, SmallVectorImpl<Operation *> &to) {
    Operation *maker = value.getDefiningOp();
    if (maker && maker->getBlock() == &body && seen.insert(maker).second)
      to.push_back(maker);
  };
  for (OpOperand &operand : read.op->getOpOperands())
    if (operand.getOperandNumber() != read.operand)
      add(operand.get(), level);
  while (!level.empty()) {
    SmallVector<size_t> found;
    for (Operation *op : level)
      if (contractions.contains(op))
        found.push_back(products.contains(op) ? 0 : size_t(describeOp(op)));
    if (!found.empty())
      return combineSet(found);
    SmallVector<Operation *> next;
    for (Operation *op : level)
      for (Value value : getUsedValues(op))
        add(value, next);
    level = std::move(next);
  }
  return combineSet({0}); // of a batch
}
