//===- RematerializeIterations.cpp - Cheap values that one loop's iterations hand to another's --===//
//
// Problem: as in Rematerialize.cpp, but where layers are the iterations of a loop: the forward iterations
// stack what automatic differentiation keeps, and the backward iterations read it, the last one first. All
// iterations' factors of a gelu's derivative are kept then. Method: users before producers, a stacked value
// that only the iterations of one other loop read is rematerialized there, by the same rules, if what it is
// made of is there: values from outside of both loops, and the parts of stacks, the writing loop's or older
// ones, that the reading iteration slices for itself. In and out: a global program, every op with its
// `epl.work`. Reference: Rematerialize.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/Loops.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/prepare/Recipe.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-rematerialize-iterations"

namespace mlir::epl {
#define GEN_PASS_DEF_REMATERIALIZEITERATIONSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numStacked, "Cheap values that iterations hand to other iterations");
ALWAYS_ENABLED_STATISTIC(numRematerialized, "Of these, values that the others make again");

namespace {
/// A stack of a loop's values, and the slices by which another loop reads it.
class Residual {
public:
  /// Of the values of `op`, or nothing if they are not stacked or read otherwise, too.
  static std::optional<Residual> find(Operation *op) {
    Residual residual;
    for (Operation *user : op->getUsers())
      if (auto stack = dyn_cast<LoopStackOp>(user); stack && residual.stack)
        return std::nullopt; // of two orders
      else if (stack)
        residual.stack = stack;
    if (!residual.stack || !residual.addSlices())
      return std::nullopt;
    return residual;
  }

  /// Makes the values again where they are read, if that is worth it.
  void rematerialize(const Loops &loops);

private:
  bool addSlices() {
    for (Operation *user : stack.getResult().getUsers()) {
      auto slice = dyn_cast<LoopSliceOp>(user);
      if (!slice || (!slices.empty() && (slice.getLoop() != slices.front().getLoop() ||
                                         slice.getReverse() != slices.front().getReverse())))
        return false;
      slices.push_back(slice);
      llvm::for_each(slice.getResult().getUses(), [&](OpOperand &use) { uses.push_back(&use); });
    }
    return !uses.empty();
  }

  /// Whether the reading loop goes the other way through what the writing one made.
  bool isReversed() const {
    return LoopStackOp(stack).getReverse() != LoopSliceOp(slices.front()).getReverse();
  }
  /// The part of `whole` that the reading iteration slices, in the given direction; null if it does not.
  Value findSlice(Value whole, bool reverse) const;
  /// What the reading iteration has of a value of the writing one's iteration.
  Value getKept(Value value, const Loops &loops) const;

  LoopStackOp stack;
  SmallVector<LoopSliceOp> slices;
  SmallVector<OpOperand *> uses; ///< of the slices
  Operation *first = nullptr;    ///< the first reader
};
} // namespace

Value Residual::findSlice(Value whole, bool reverse) const {
  LoopAttr reading = LoopSliceOp(slices.front()).getLoop();
  for (Operation *user : whole.getUsers())
    if (auto slice = dyn_cast<LoopSliceOp>(user))
      if (slice.getLoop() == reading && slice.getReverse() == reverse && slice->isBeforeInBlock(first))
        return slice;
  return {};
}

Value Residual::getKept(Value value, const Loops &loops) const {
  if (isWithin(LoopSliceOp(slices.front()).getLoop(), loops.getLoop(value)))
    return value;
  if (auto slice = value.getDefiningOp<LoopSliceOp>())
    return findSlice(slice.getOperand(), slice.getReverse() != isReversed());
  for (Operation *user : value.getUsers())
    if (auto kept = dyn_cast<LoopStackOp>(user))
      if (Value slice = findSlice(kept, kept.getReverse() != isReversed()))
        return slice;
  return {};
}

void Residual::rematerialize(const Loops &loops) {
  auto isReader = [](OpOperand *use) { return Recipe::isReader(use->getOwner()); };
  if (!llvm::all_of(uses, isReader))
    return;
  first = Recipe::getFirst(uses);
  Recipe recipe(stack.getOperand().getDefiningOp(), [&](Value value) { return getKept(value, loops); });
  if (!recipe.isGood())
    return;
  LDBG() << stack.getType() << " is made again in loop " << LoopSliceOp(slices.front()).getLoop().getId();
  ++numRematerialized;
  recipe.replace(uses);
  for (LoopSliceOp slice : slices)
    slice.erase();
  stack.erase();
}

/// The ops that make what is handed from iterations to iterations, users before producers.
static SmallVector<Operation *> findStacked(Block &body) {
  SmallVector<Operation *> found;
  for (Operation &op : llvm::reverse(body))
    if (isa<linalg::GenericOp>(op) && Recipe::isCheap(&op) &&
        llvm::any_of(op.getUsers(), llvm::IsaPred<LoopStackOp>))
      found.push_back(&op);
  return found;
}

namespace {
struct RematerializeIterations : epl::impl::RematerializeIterationsPassBase<RematerializeIterations> {
  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> functions = getGlobalFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions) {
      Loops loops(function.front()); // what is rematerialized is read there, and asked of no more
      for (Operation *op : findStacked(function.front()))
        if (std::optional<Residual> residual = Residual::find(op)) {
          ++numStacked;
          residual->rematerialize(loops);
        }
    }
  }
};
} // namespace
