//===- Arrangements.cpp - Ops that arrange elements -----------------------===//

#include "passes/annotate/Arrangements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

/// Whether each element of `value`, a tensor or a number, is +0.
static bool isZero(Value value) {
  if (value && matchPattern(value, m_PosZeroFloat()))
    return true;
  auto fill = value ? value.getDefiningOp<GenericOp>() : GenericOp();
  return fill && fill.getNumReductionLoops() == 0 && fill.getNumDpsInputs() == 1 &&
         fill.getBody()->getTerminator()->getOperand(0) == fill.getBody()->getArgument(0) &&
         isZero(fill.getOperand(0));
}

/// The tensor that a generic copies as a whole; null if it does anything else.
static Value getCopied(GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      !op.getIndexingMapsArray().back().isIdentity() ||
      op.getBody()->getTerminator()->getOperand(0) != op.getBody()->getArgument(0))
    return {};
  auto source = dyn_cast<RankedTensorType>(op.getOperand(0).getType());
  auto result = cast<RankedTensorType>(op.getResult(0).getType());
  return source && source.getNumElements() <= result.getNumElements() ? op.getOperand(0) : Value();
}

Value mlir::epl::getArranged(Operation *op) {
  Value source = llvm::TypeSwitch<Operation *, Value>(op)
                     .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
                         [](auto reshape) { return Value(reshape.getSrc()); })
                     .Case([](tensor::PadOp pad) {
                       return isZero(pad.getConstantPaddingValue()) ? Value(pad.getSource()) : Value();
                     })
                     .Case([](tensor::InsertSliceOp insert) {
                       return isZero(insert.getDest()) ? Value(insert.getSource()) : Value();
                     })
                     .Case([](GenericOp generic) { return getCopied(generic); })
                     .Default(Value());
  return source && isa<FloatType>(getElementTypeOrSelf(source)) ? source : Value();
}

Value mlir::epl::arrange(OpBuilder &builder, Operation *op, Value source, WorkAttr work) {
  Type element = getElementTypeOrSelf(source);
  auto stamped = [&](Operation *created) {
    created->setAttr(EplDialect::kWorkAttr, work);
    return created->getResult(0);
  };
  auto createZero = [&](Type type) {
    return stamped(arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(type)));
  };
  auto type = cast<RankedTensorType>(op->getResult(0).getType()).clone(element);
  IRMapping mapping;
  mapping.map(getArranged(op), source);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return stamped(tensor::PadOp::create(builder, op->getLoc(), type, source, pad.getMixedLowPad(),
                                         pad.getMixedHighPad(), createZero(element), pad.getNofold(),
                                         llvm::to_vector(op->getDiscardableAttrs())));
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    mapping.map(insert.getDest(), createZero(type));
  if (auto copy = dyn_cast<GenericOp>(op))
    mapping.map(copy.getDpsInits().front(),
                stamped(tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), element)));
  Operation *arranged = builder.clone(*op, mapping);
  if (auto copy = dyn_cast<GenericOp>(arranged))
    for (BlockArgument argument : copy.getBody()->getArguments())
      argument.setType(element);
  arranged->getResult(0).setType(type);
  return stamped(arranged);
}
