//===- Enlarging.cpp - What is padded or repeated -------------------------===//

#include "passes/shard/analysis/Enlarging.h"

#include "dialect/Bytes.h"
#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::epl;

bool mlir::epl::isMadeOfConstants(Value value) {
  Operation *source = value.getDefiningOp();
  return !isa<RankedTensorType>(value.getType()) || (source && isUniform(source));
}

/// The operand that an elementwise op repeats: the only tensor that it reads.
static Value getRepeated(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() != 0 || op->getNumResults() != 1)
    return {};
  Value repeated;
  for (Value operand : op->getOperands()) {
    if (isMadeOfConstants(operand))
      continue;
    if (repeated)
      return {};
    repeated = operand;
  }
  return repeated;
}

Value mlir::epl::getEnlarged(Operation *op) {
  Value source;
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
    source = getRepeated(linalg);
  else if (auto model = dyn_cast<ShardableOp>(op))
    source = model.getPadded();
  bool isLarger = source && isa<RankedTensorType>(source.getType()) &&
                  getBytes(source) < getBytes(op->getResult(0)) && getCapturedTensors(op).empty();
  return isLarger ? source : Value();
}

int64_t mlir::epl::getMovedBytes(Value value, const AssumedConstraints &assumed) {
  for (Operation *op = value.getDefiningOp(); op; op = value.getDefiningOp()) {
    Value source = getEnlarged(op);
    if (!source)
      break;
    value = source;
    auto isSource = [&](OpOperand &operand) { return operand.get() == source; };
    if (!assumed.isEmpty() && assumed.isConstrained(*llvm::find_if(op->getOpOperands(), isSource)))
      break;
  }
  return getBytes(value);
}

int64_t mlir::epl::getMovedBytes(OpOperand &use, const AssumedConstraints &assumed) {
  return !assumed.isEmpty() && assumed.isConstrained(use) ? getBytes(use.get())
                                                          : getMovedBytes(use.get(), assumed);
}
