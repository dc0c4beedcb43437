//===- ExpandHalf.cpp - Conversions of f16 without instructions for them ---------===//
//
// Problem: CPUs without F16C convert between f16 and f32 by calls of libgcc, which an image does not link.
//
// Method: integer arithmetic on the bits, on vectors as well, as in F. Giesen's "half_to_float" and
// "float_to_half". No step reads or makes a denormal f32: worker threads flush them, F16C does not. Rounding
// is to nearest even; a NaN stays one.
//
// Invariant in: f16 is converted from and to f32 only. Invariant out: it is not converted.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::epl {
#define GEN_PASS_DEF_EXPANDHALF
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

static Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.clone(element) : element;
}

namespace {

// Builds ops on the bits of the values that one conversion works on.
class Bits {
public:
  Bits(ImplicitLocOpBuilder &b, Type like)
      : b(b), f32(withElement(like, b.getF32Type())), i32(withElement(like, b.getI32Type())),
        i16(withElement(like, b.getI16Type())), f16(withElement(like, b.getF16Type())) {}

  Value constant(int32_t bits) {
    Attribute value = b.getI32IntegerAttr(bits);
    if (auto shaped = dyn_cast<ShapedType>(i32))
      value = DenseElementsAttr::get(shaped, value);
    return arith::ConstantOp::create(b, cast<TypedAttr>(value));
  }
  Value add(Value x, int32_t y) { return arith::AddIOp::create(b, x, constant(y)); }
  Value mask(Value x, int32_t y) { return arith::AndIOp::create(b, x, constant(y)); }
  Value left(Value x, int32_t y) { return arith::ShLIOp::create(b, x, constant(y)); }
  Value right(Value x, int32_t y) { return arith::ShRUIOp::create(b, x, constant(y)); }
  Value join(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value is(arith::CmpIPredicate how, Value x, int32_t y) {
    return arith::CmpIOp::create(b, how, x, constant(y));
  }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value asFloat(Value bits) { return arith::BitcastOp::create(b, f32, bits); }
  Value ofFloat(Value number) { return arith::BitcastOp::create(b, i32, number); }

  Value extend(Value half);
  Value truncate(Value single);

private:
  ImplicitLocOpBuilder &b;
  Type f32, i32, i16, f16;
};

constexpr int32_t kSign = 0x8000;
constexpr int32_t kRebias = (127 - 15) << 23; // from the exponent of f16 to that of f32, in f32's place

} // namespace

Value Bits::extend(Value half) {
  Value bits = arith::ExtUIOp::create(b, i32, arith::BitcastOp::create(b, i16, half));
  Value magnitude = left(mask(bits, kSign - 1), 13);
  Value exponent = mask(magnitude, 0x1f << 23);
  Value normal = add(magnitude, kRebias);
  Value special = add(magnitude, 2 * kRebias); // infinity and NaN: to the largest exponent
  // A denormal is its mantissa below the smallest exponent's one, which is taken away again.
  Value withOne = asFloat(add(magnitude, kRebias + (1 << 23)));
  Value denormal = ofFloat(arith::SubFOp::create(b, withOne, asFloat(constant(kRebias + (1 << 23)))));
  Value isSpecial = is(arith::CmpIPredicate::eq, exponent, 0x1f << 23);
  Value isDenormal = is(arith::CmpIPredicate::eq, exponent, 0);
  Value result = select(isSpecial, special, select(isDenormal, denormal, normal));
  return asFloat(join(result, left(mask(bits, kSign), 16)));
}

Value Bits::truncate(Value single) {
  Value bits = ofFloat(single), magnitude = mask(bits, 0x7fffffff);
  // Rounds to even: half a unit less one, and one more if the last bit that stays is set.
  Value odd = mask(right(magnitude, 13), 1);
  Value normal = right(arith::AddIOp::create(b, add(magnitude, 0xfff - kRebias), odd), 13);
  // The addition of 0.5 aligns the mantissa to that of an f16 denormal, and rounds it.
  constexpr int32_t kHalf = 126 << 23;
  Value aligned = arith::AddFOp::create(b, asFloat(magnitude), asFloat(constant(kHalf)));
  Value denormal = add(ofFloat(aligned), -kHalf);
  Value isNan = is(arith::CmpIPredicate::sgt, magnitude, 0xff << 23);
  Value special = select(isNan, constant(0x7e00), constant(0x7c00));
  Value isSmall = is(arith::CmpIPredicate::slt, magnitude, kRebias + (1 << 23));
  Value isLarge = is(arith::CmpIPredicate::sge, magnitude, (127 + 16) << 23);
  Value result = select(isLarge, special, select(isSmall, denormal, normal));
  Value signedBits = join(result, mask(right(bits, 16), kSign));
  return arith::BitcastOp::create(b, f16, arith::TruncIOp::create(b, i16, signedBits));
}

namespace {

struct ExpandExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isF16() || !getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, Bits(b, op.getType()).extend(op.getIn()));
    return success();
  }
};

struct ExpandTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isF32() || !getElementTypeOrSelf(op.getType()).isF16())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, Bits(b, op.getType()).truncate(op.getIn()));
    return success();
  }
};

struct ExpandHalf : mlir::epl::impl::ExpandHalfBase<ExpandHalf> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExtension, ExpandTruncation>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
