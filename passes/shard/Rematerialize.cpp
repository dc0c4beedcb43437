//===- Rematerialize.cpp - Cheap values made again where the backward work reads them -----===//
//
// Problem: what the forward work makes and the backward work reads is kept between them. Automatic
// differentiation keeps far more than it has to: the four factors of a gelu's derivative, say, all of which
// are a few multiplications away from its argument and its tanh.
// Method: users before producers, a value of the forward work that the backward work reads is made again
// there if that takes a few cheap elementwise ops on values that are kept anyway, at most two as large as
// itself, so that no more memory is read. Values that a contraction or a reshape reads in the backward work
// stay: it would have to store them again. What is kept never grows. In and out: a global program, every op
// with its `epl.work`. Reference: the recomputation of fusible operators in PyTorch's min-cut partitioner.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::epl {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// How many ops are made again for a value, and how many values of its size they may read.
static constexpr size_t kMaxOps = 12, kMaxLargeInputs = 2;

static std::optional<WorkKind> getKind(Operation *op) {
  auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
  return work ? std::optional(work.getKind()) : std::nullopt;
}

static Operation *getUser(OpOperand &use) {
  Operation *user = use.getOwner();
  return use.get().getParentBlock()->findAncestorOpInBlock(*user);
}

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

/// Whether making the op's result again costs little beside reading it.
static bool isCheap(Operation *op) {
  if (isa<tensor::EmptyOp, arith::ConstantOp, tensor::SplatOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && isElementwise(generic) && llvm::all_of(*generic.getBody(), isCheapScalar);
}

/// Whether a reader can be part of the kernel that makes what it reads: elementwise ops and reductions of one
/// value can, products cannot.
static bool isFusible(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && (generic.getNumReductionLoops() == 0 || generic.getNumDpsInputs() == 1);
}

static bool isKept(Value value) {
  Operation *producer = value.getDefiningOp();
  return !producer || llvm::any_of(value.getUses(),
                                   [](OpOperand &use) { return getKind(getUser(use)) != WorkKind::forward; });
}

static int64_t getSize(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

namespace {
/// The ops that make a value of the forward work again from values that are kept.
class Recipe {
public:
  explicit Recipe(Operation *op) : size(getSize(op->getResult(0))), isValid(add(op)) {}

  bool isGood() const { return isValid && largeInputs.size() <= kMaxLargeInputs; }
  /// Makes the value again before `user`, as part of its work.
  Value build(Operation *user) const;

private:
  bool add(Operation *op);
  bool addInput(Value value);

  int64_t size;
  llvm::SetVector<Operation *> ops; // producers first
  llvm::SmallPtrSet<Value, 4> largeInputs;
  bool isValid;
};
} // namespace

bool Recipe::add(Operation *op) {
  if (ops.contains(op))
    return true;
  if (!isCheap(op) || ops.size() >= kMaxOps)
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  auto isConstant = [](Value value) { return !!value.getDefiningOp<arith::ConstantOp>(); };
  if (!llvm::all_of(captured, isConstant) ||
      !llvm::all_of(op->getOperands(), [&](Value value) { return addInput(value); }))
    return false;
  ops.insert(op);
  return true;
}

bool Recipe::addInput(Value value) {
  Operation *producer = value.getDefiningOp();
  bool isFree = producer && isa<tensor::EmptyOp, arith::ConstantOp, tensor::SplatOp>(producer);
  if (!isFree && isKept(value)) {
    if (isa<RankedTensorType>(value.getType()) && getSize(value) >= size)
      largeInputs.insert(value);
    return true;
  }
  return add(producer);
}

Value Recipe::build(Operation *user) const {
  OpBuilder builder(user);
  IRMapping mapping;
  Operation *clone = nullptr;
  for (Operation *op : ops) {
    clone = builder.clone(*op, mapping);
    clone->setAttr(EplDialect::kWorkAttr, user->getAttr(EplDialect::kWorkAttr));
  }
  return clone->getResult(0);
}

/// Makes the op's result again in each work that follows the forward one, if that is worth it. What nothing
/// reads any more goes.
static void rematerialize(Operation *op) {
  Value value = op->getResult(0);
  llvm::MapVector<Attribute, SmallVector<OpOperand *>> readers; // by their work
  for (OpOperand &use : value.getUses()) {
    Operation *user = getUser(use);
    if (getKind(user) == WorkKind::forward)
      continue;
    if (use.getOwner() != user || !isFusible(user))
      return;
    readers[user->getAttr(EplDialect::kWorkAttr)].push_back(&use);
  }
  Recipe recipe(op);
  if (!recipe.isGood())
    return;
  for (auto &[work, uses] : readers) {
    Operation *first = uses.front()->getOwner();
    for (OpOperand *use : uses)
      first = use->getOwner()->isBeforeInBlock(first) ? use->getOwner() : first;
    Value again = recipe.build(first);
    for (OpOperand *use : uses)
      use->set(again);
  }
  if (value.use_empty())
    op->erase();
}

namespace {
struct Rematerialize : epl::impl::RematerializePassBase<Rematerialize> {
  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
          if (getKind(&op) == WorkKind::forward && isa<linalg::GenericOp>(op) && isCheap(&op))
            rematerialize(&op);
  }
};
} // namespace
