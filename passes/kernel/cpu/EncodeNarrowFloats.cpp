//===- EncodeNarrowFloats.cpp - 16-bit floats as integers of their bits ----------===//
//
// Problem: x86 has no registers for bf16, nor for f16 without AVX512-FP16. What only moves such values, a
// broadcast, a select, a masked access, a loop that carries one, LLVM then does by way of f32, lane by lane:
// a call of libgcc, which an image does not link, where the CPU cannot convert.
//
// Method: every 16-bit float is the integer of its bits, in all types and constants. Only a conversion that
// is left to the CPU sees the float, between two bitcasts.
//
// Invariant in: 16-bit floats are converted from and to f32, and moved; nothing else. Invariant out: they are
// operands and results of conversions that the CPU has; nothing else.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace mlir::epl {
#define GEN_PASS_DEF_ENCODENARROWFLOATS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

// Constants hold their type beside their bits, so that both are replaced at once.
static AttrTypeReplacer makeEncoder(MLIRContext *context) {
  Type bits = IntegerType::get(context, 16);
  AttrTypeReplacer encoder;
  encoder.addReplacement([=](FloatType type) { return isNarrowFloat(type) ? bits : type; });
  encoder.addReplacement([=](FloatAttr number) -> std::pair<Attribute, WalkResult> {
    if (!isNarrowFloat(number.getType()))
      return {number, WalkResult::skip()};
    return {IntegerAttr::get(bits, number.getValue().bitcastToAPInt()), WalkResult::skip()};
  });
  encoder.addReplacement([=](DenseElementsAttr numbers) -> std::pair<Attribute, WalkResult> {
    return {isNarrowFloat(numbers.getType()) ? numbers.bitcast(bits) : numbers, WalkResult::skip()};
  });
  return encoder;
}

namespace {

struct EncodeNarrowFloats : mlir::epl::impl::EncodeNarrowFloatsBase<EncodeNarrowFloats> {
  void runOnOperation() override {
    SmallVector<std::pair<Operation *, Type>> conversions; // with the float that each reads or makes
    getOperation().walk([&](Operation *op) {
      if (auto extend = dyn_cast<arith::ExtFOp>(op); extend && isNarrowFloat(extend.getIn().getType()))
        conversions.emplace_back(op, extend.getIn().getType());
      else if (isa<arith::TruncFOp>(op) && isNarrowFloat(op->getResult(0).getType()))
        conversions.emplace_back(op, op->getResult(0).getType());
    });
    makeEncoder(&getContext())
        .recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                      /*replaceTypes=*/true);
    for (auto [op, type] : conversions)
      isa<arith::ExtFOp>(op) ? decodeOperand(op, type) : encodeResult(op, type);
  }

  void decodeOperand(Operation *op, Type type) {
    OpBuilder b(op);
    op->setOperand(0, arith::BitcastOp::create(b, op->getLoc(), type, op->getOperand(0)));
  }

  void encodeResult(Operation *op, Type type) {
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Value number = op->getResult(0);
    auto bits = arith::BitcastOp::create(b, op->getLoc(), number.getType(), number);
    number.setType(type);
    number.replaceAllUsesExcept(bits, bits);
  }
};

} // namespace
