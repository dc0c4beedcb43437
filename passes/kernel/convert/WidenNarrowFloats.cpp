//===- WidenNarrowFloats.cpp - bf16 and f16 are computed in f32 ------------------===//
//
// Problem: CPUs compute in f32 and f64. Upstream widens the arithmetic of 16-bit floats and their functions,
// but not fma, nor conversions from and to integers and f64, for which LLVM would call libgcc.
//
// Method: each of these through f32, as in XLA. A number is rounded twice then: to f32, and to 16 bits.
//
// Invariant in: upstream has widened its part. Invariant out: 16-bit floats are converted from and to f32,
// and moved; nothing else.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::epl {
#define GEN_PASS_DEF_WIDENNARROWFLOATS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

static Type getSingle(Type type) {
  Type single = Float32Type::get(type.getContext());
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.clone(single) : single;
}

namespace {

// One conversion becomes two.
template <typename FirstOp, typename ConversionOp, typename SecondOp>
struct ConvertThroughF32 : OpRewritePattern<ConversionOp> {
  using OpRewritePattern<ConversionOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ConversionOp op, PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType(), to = op.getType(), single = getSingle(from);
    if ((!isNarrowFloat(from) && !isNarrowFloat(to)) || from == single || to == single)
      return failure();
    Value number = FirstOp::create(rewriter, op.getLoc(), single, op.getIn());
    rewriter.replaceOpWithNewOp<SecondOp>(op, to, number);
    return success();
  }
};

template <typename ConversionOp>
using FromInteger = ConvertThroughF32<ConversionOp, ConversionOp, arith::TruncFOp>;
template <typename ConversionOp>
using ToInteger = ConvertThroughF32<arith::ExtFOp, ConversionOp, ConversionOp>;
template <typename ConversionOp>
using BetweenFloats = ConvertThroughF32<ConversionOp, ConversionOp, ConversionOp>;

struct FmaInF32 : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType(), single = getSingle(type);
    if (!isNarrowFloat(type))
      return failure();
    SmallVector<Value> wide = llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
      return arith::ExtFOp::create(rewriter, op.getLoc(), single, operand);
    });
    Value result = math::FmaOp::create(rewriter, op.getLoc(), wide[0], wide[1], wide[2]);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, result);
    return success();
  }
};

struct WidenNarrowFloats : mlir::epl::impl::WidenNarrowFloatsBase<WidenNarrowFloats> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FromInteger<arith::SIToFPOp>, FromInteger<arith::UIToFPOp>, ToInteger<arith::FPToSIOp>,
                 ToInteger<arith::FPToUIOp>, BetweenFloats<arith::ExtFOp>, BetweenFloats<arith::TruncFOp>,
                 FmaInF32>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
