//===- GeneralizeOps.cpp - One kind of structured op ----------------------===//
//
// Problem: named ops (matmul, fill, transpose) and elementwise ops on tensors hide their indexing maps behind
// names. Method: upstream's patterns in one walk. Not its passes: they fold, and merge constants. First a
// softmax is taken apart, concatenations become the one op that has a factor rule, and a stack of what is the
// same in all iterations of a loop becomes a broadcast: what is done once is no part of the loop, and has
// nothing to leave it. Invariant out: every linalg op is a linalg.generic; arith and math compute on scalars
// only; no tensor.concat; what a loop stacks depends on the iteration.
//
//===----------------------------------------------------------------------===//

#include "dialect/Loops.h"
#include "passes/annotate/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::epl {
#define GEN_PASS_DEF_GENERALIZEOPSPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;

static void decompose(linalg::SoftmaxOp op) {
  IRRewriter rewriter(op);
  FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
  assert(succeeded(values) && "a softmax always has a maximum, a sum and a quotient");
  rewriter.replaceOp(op, *values);
}

static void replace(tensor::ConcatOp op) {
  IRRewriter rewriter(op);
  rewriter.replaceOpWithNewOp<epl::ConcatenateOp>(op, op.getType(), op.getInputs(), op.getDim());
}

/// An operand that nobody reads, such as any tensor that the patterns take as an init of the right type, is a
/// use that is none.
static void dropUnreadOperands(linalg::GenericOp op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !type.hasStaticShape() || op.payloadUsesValueFromOperand(&operand) ||
        operand.get().getDefiningOp<tensor::EmptyOp>())
      continue;
    operand.set(tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(), type.getElementType()));
  }
}

static void broadcastStack(epl::LoopStackOp op) {
  IRRewriter rewriter(op);
  auto type = cast<RankedTensorType>(op.getType());
  AffineMap whole = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  Value init = tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(), type.getElementType());
  rewriter.replaceOpWithNewOp<linalg::GenericOp>(op, TypeRange(type), op.getOperand(), init,
                                                 ArrayRef{whole.dropResult(0), whole}, iterators,
                                                 [](OpBuilder &builder, Location loc, ValueRange elements) {
                                                   linalg::YieldOp::create(builder, loc, elements.front());
                                                 });
}

/// Whether an op, which is no scope, computes on `values`.
static bool readsOneOf(Operation *op, const DenseSet<Value> &values) {
  WalkResult found = op->walk([&](Operation *inner) {
    bool reads = llvm::any_of(inner->getOperands(), [&](Value value) { return values.contains(value); });
    return reads ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// A loop may be in several scopes, and out of all. Stacks of values on meshes stay as they are: this is done
/// before there are any.
static void broadcastInvariantStacks(func::FuncOp function) {
  DenseSet<Value> made; // by iterations
  SmallVector<epl::LoopStackOp> stacks;
  function.walk([&](Operation *op) {
    auto stack = dyn_cast<epl::LoopStackOp>(op);
    if (stack && isa<RankedTensorType>(stack.getType()) && !made.contains(stack.getOperand()))
      stacks.push_back(stack);
    else if (isa<epl::YieldOp>(op))
      for (auto [value, result] : llvm::zip(op->getOperands(), op->getParentOp()->getResults())) {
        if (made.contains(value))
          made.insert(result);
      }
    else if (!epl::leavesLoop(op) && !isa<epl::ReplicateOp, epl::SplitOp>(op) &&
             (epl::getEdgeLoop(op) || readsOneOf(op, made)))
      made.insert_range(op->getResults());
  });
  llvm::for_each(stacks, broadcastStack);
}

namespace {
struct GeneralizeOpsPass : epl::impl::GeneralizeOpsPassBase<GeneralizeOpsPass> {
  void runOnOperation() override {
    getOperation().walk(decompose);
    getOperation().walk(replace);
    RewritePatternSet patterns(&getContext());
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    getOperation().walk(dropUnreadOperands);
    broadcastInvariantStacks(getOperation());
  }
};
} // namespace
