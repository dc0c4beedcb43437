//===- KeepMaxima.cpp - Maxima of f32 stay one instruction -----------------------===//
//
// Problem: a maximum that lets NaN pass is one instruction of a GPU; upstream's `arith-expand` makes four of
// it.
//
// Method: it becomes LLVM's intrinsic before.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::epl {
#define GEN_PASS_DEF_KEEPMAXIMA
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

template <typename ArithOp, typename LlvmOp> struct Keep : OpRewritePattern<ArithOp> {
  using OpRewritePattern<ArithOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ArithOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    rewriter.replaceOpWithNewOp<LlvmOp>(op, op.getLhs(), op.getRhs());
    return success();
  }
};

struct KeepMaxima : mlir::epl::impl::KeepMaximaBase<KeepMaxima> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Keep<arith::MaximumFOp, LLVM::MaximumOp>, Keep<arith::MinimumFOp, LLVM::MinimumOp>>(
        &getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
