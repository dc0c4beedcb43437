//===- ApproximateMath.cpp - Functions of the math dialect as code ---------------===//
//
// Problem: LLVM has no vector form of exp or tanh: it would call libm once per lane, twenty times slower.
//
// Method: upstream's polynomials for the functions that they get right to a few ulp over the whole range,
// with NaN and infinity kept; libm for the others (sin and cos lose their range above a few hundred, atan and
// cbrt are tens of ulp off) and for f64. What LLVM has instructions or good intrinsics for is left to it.
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

// Upstream's patterns write down vectors of several dimensions part by part, and do not end on those of none.
// Kernels have vectors of a few registers.
static constexpr int64_t kMostLanes = 4096;

// Fails, with an error at an op, if a vector in `root` has another rank than 1 or is longer.
static LogicalResult verifyVectors(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (auto vector = dyn_cast<VectorType>(type);
          vector && (vector.getRank() != 1 || vector.getNumElements() > kMostLanes))
        return op->emitOpError() << "has a vector of type " << vector
                                 << ", expected one dimension of at most " << kMostLanes << " elements";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {

struct ApproximateMath : mlir::epl::impl::ApproximateMathBase<ApproximateMath> {
  using ApproximateMathBase::ApproximateMathBase;

  void runOnOperation() override {
    if (failed(verifyVectors(getOperation())))
      return signalPassFailure();
    RewritePatternSet polynomials(&getContext());
    populateMathPolynomialApproximationPatterns(polynomials, [&](StringRef name) {
      return hasPolynomial(name) && !(keepExp && name == math::ExpOp::getOperationName());
    });
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
