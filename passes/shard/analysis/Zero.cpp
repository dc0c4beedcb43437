//===- Zero.cpp - Which values are known to be zero -----------------------===//

#include "passes/shard/analysis/Zero.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::epl;

ZeroAnalysis::ZeroAnalysis(func::FuncOp function) {
  auto status = [&](Value value) { return getStatus(value); };
  for (Operation &op : function.getBody().front().without_terminator()) {
    SmallVector<Status> operands = llvm::map_to_vector(op.getOperands(), status);
    for (auto [result, known] : llvm::zip_equal(op.getResults(), evaluate(&op, operands, status)))
      if (known == Status::zero)
        zeros.insert(result);
  }
}

/// The constant that every element of `value` is, seen through a fill; null if it is none.
static Attribute getSplat(Value value) {
  Attribute constant;
  if (auto fill = value.getDefiningOp<linalg::LinalgOp>(); fill && fill.getNumReductionLoops() == 0) {
    auto result = cast<OpResult>(value).getResultNumber();
    Value yielded = fill.getBlock()->getTerminator()->getOperand(result);
    auto argument = dyn_cast<BlockArgument>(yielded);
    value = argument && argument.getOwner() == fill.getBlock() ? fill->getOperand(argument.getArgNumber())
                                                               : yielded;
  }
  if (!matchPattern(value, m_Constant(&constant)))
    return {};
  auto splat = dyn_cast<SplatElementsAttr>(constant);
  return splat ? splat.getSplatValue<Attribute>() : constant;
}

static bool isOne(Value value) {
  Attribute splat = getSplat(value);
  if (auto number = dyn_cast_or_null<FloatAttr>(splat))
    return number.getValue().isExactlyValue(1.0);
  auto number = dyn_cast_or_null<IntegerAttr>(splat);
  return number && number.getValue().isOne();
}

bool ZeroAnalysis::isNeutral(ReductionKind kind, Value init) const {
  switch (kind) {
  case ReductionKind::sum:
    return isZero(init);
  case ReductionKind::prod:
    return isOne(init);
  case ReductionKind::max: // Idempotent: taken once or often is the same.
  case ReductionKind::min:
  case ReductionKind::all:
  case ReductionKind::any:
    return true;
  }
  llvm_unreachable("unknown reduction");
}
