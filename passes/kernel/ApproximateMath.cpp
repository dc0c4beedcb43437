//===- ApproximateMath.cpp - Functions of the math dialect as code ---------------===//
//
// Problem: LLVM has no vector form of exp or tanh: it would call libm once per lane, twenty times slower.
//
// Method: upstream's polynomials for the functions that they get right to a few ulp over the whole range,
// with NaN and infinity kept; libm for the others (sin and cos lose their range above a few hundred, atan and
// cbrt are tens of ulp off) and for f64. What LLVM has instructions or good intrinsics for is left to it.
// For f64 to f16 or bf16, and for fma of f16, it would call libgcc, which a plan does not link: they go
// through f32, as in XLA.
//
// Invariant in: f32 and f64 only. Invariant out: every math op left has an LLVM intrinsic.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::epl {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

static bool hasPolynomial(StringRef name) {
  static const StringRef names[] = {
      math::ExpOp::getOperationName(), math::ExpM1Op::getOperationName(), math::TanhOp::getOperationName(),
      math::LogOp::getOperationName(), math::Log2Op::getOperationName(),  math::Log1pOp::getOperationName(),
      math::ErfOp::getOperationName(),
  };
  return llvm::is_contained(names, name);
}

namespace {

struct TruncateThroughF32 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType(), single = rewriter.getF32Type();
    if (!getElementTypeOrSelf(from).isF64() || getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    if (auto shaped = dyn_cast<ShapedType>(from))
      single = shaped.clone(single);
    Value narrow = arith::TruncFOp::create(rewriter, op.getLoc(), single, op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), narrow);
    return success();
  }
};

struct FmaThroughF32 : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType(), single = rewriter.getF32Type();
    if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() >= 32)
      return failure();
    if (auto shaped = dyn_cast<ShapedType>(type))
      single = shaped.clone(single);
    SmallVector<Value> wide = llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
      return arith::ExtFOp::create(rewriter, op.getLoc(), single, operand);
    });
    Value result = math::FmaOp::create(rewriter, op.getLoc(), wide[0], wide[1], wide[2]);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, result);
    return success();
  }
};

struct ApproximateMath : mlir::epl::impl::ApproximateMathBase<ApproximateMath> {
  void runOnOperation() override {
    RewritePatternSet polynomials(&getContext());
    populateMathPolynomialApproximationPatterns(polynomials, hasPolynomial);
    polynomials.add<TruncateThroughF32, FmaThroughF32>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(polynomials))))
      return signalPassFailure();

    RewritePatternSet calls(&getContext());
    populateMathToLibmConversionPatterns(calls);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::AcosOp, math::AcoshOp, math::AsinOp, math::AsinhOp, math::AtanOp, math::Atan2Op,
                        math::AtanhOp, math::CbrtOp, math::CosOp, math::CoshOp, math::ErfOp, math::ErfcOp,
                        math::ExpM1Op, math::Log1pOp, math::PowFOp, math::SinOp, math::SinhOp, math::TanOp,
                        math::TanhOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(calls))))
      signalPassFailure();
  }
};

} // namespace
