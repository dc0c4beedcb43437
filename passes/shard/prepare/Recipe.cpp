//===- Recipe.cpp - Making a value again ----------------------------------===//

#include "passes/shard/prepare/Recipe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::epl;

/// How many ops are rematerialized for a value, and how many values of its size they may read.
static constexpr size_t kMaxOps = 12, kMaxLargeInputs = 2;

/// Whether a scalar op takes about as long as a load from the caches.
static bool isCheapScalar(Operation &op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp, arith::CmpIOp, arith::SelectOp, arith::AddIOp,
             arith::SubIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ExtFOp, arith::TruncFOp,
             arith::SIToFPOp, arith::UIToFPOp, arith::ConstantOp, linalg::YieldOp>(op);
}

static bool isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op->getNumResults() == 1 &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isProjectedPermutation(); });
}

bool Recipe::isCheap(Operation *op) {
  if (isa<tensor::EmptyOp, arith::ConstantOp, tensor::SplatOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && isElementwise(generic) && llvm::all_of(*generic.getBody(), isCheapScalar);
}

bool Recipe::isReader(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && (generic.getNumReductionLoops() == 0 || generic.getNumDpsInputs() == 1);
}

static int64_t getSize(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

Recipe::Recipe(Operation *op, KeptAs getKept) : size(getSize(op->getResult(0))), isValid(add(op, getKept)) {}

bool Recipe::isGood() const { return isValid && largeInputs.size() <= kMaxLargeInputs; }

bool Recipe::add(Operation *op, KeptAs getKept) {
  if (ops.contains(op))
    return true;
  if (!isCheap(op) || ops.size() >= kMaxOps)
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  auto isConstant = [](Value value) { return !!value.getDefiningOp<arith::ConstantOp>(); };
  if (!llvm::all_of(captured, isConstant) ||
      !llvm::all_of(op->getOperands(), [&](Value value) { return addInput(value, getKept); }))
    return false;
  ops.insert(op);
  return true;
}

bool Recipe::addInput(Value value, KeptAs getKept) {
  Operation *producer = value.getDefiningOp();
  bool isFree = producer && isa<tensor::EmptyOp, arith::ConstantOp, tensor::SplatOp>(producer);
  if (Value known = isFree ? Value() : getKept(value)) {
    if (isa<RankedTensorType>(value.getType()) && getSize(value) >= size)
      largeInputs.insert(value);
    kept.map(value, known);
    return true;
  }
  return producer && add(producer, getKept);
}

Operation *Recipe::getFirst(ArrayRef<OpOperand *> uses) {
  Operation *first = uses.front()->getOwner();
  for (OpOperand *use : uses)
    first = use->getOwner()->isBeforeInBlock(first) ? use->getOwner() : first;
  return first;
}

void Recipe::replace(ArrayRef<OpOperand *> uses) {
  Operation *first = getFirst(uses);
  OpBuilder builder(first);
  IRMapping mapping = kept;
  Operation *clone = nullptr;
  for (Operation *op : ops) {
    clone = builder.clone(*op, mapping);
    copyWork(first, clone);
  }
  for (OpOperand *use : uses)
    use->set(clone->getResult(0));
}
