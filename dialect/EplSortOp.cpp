//===- EplSortOp.cpp - Sorts ----------------------------------------------===//

#include "dialect/Epl.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::epl;

ArrayRef<int64_t> SortOp::getShape() {
  return cast<RankedTensorType>(getOperands().front().getType()).getShape();
}

int64_t SortOp::getLimit() {
  return cast<RankedTensorType>(getResults().front().getType()).getDimSize(getDim());
}

static LogicalResult verifyOperands(SortOp op) {
  if (op.getOperands().empty()) // (C1)
    return op.emitOpError() << "has no operands, expected at least one";
  for (auto [index, type] : llvm::enumerate(op.getOperandTypes()))
    if (cast<RankedTensorType>(type).getShape() != op.getShape()) // (C1)
      return op.emitOpError() << "operand " << index << " has type " << type << ", expected the shape of "
                              << op.getOperandTypes().front();
  int64_t dim = op.getDim(), rank = op.getShape().size();
  if (dim < 0 || dim >= rank) // (C2)
    return op.emitOpError() << "sorts dimension " << dim << " of operands of rank " << rank;
  return success();
}

static LogicalResult verifyResults(SortOp op) {
  if (op.getNumResults() != op.getNumOperands()) // (C3)
    return op.emitOpError() << "has " << op.getNumResults() << " results, expected one for each of "
                            << op.getNumOperands() << " operands";
  auto first = cast<RankedTensorType>(op.getResultTypes().front());
  if (first.getRank() != int64_t(op.getShape().size())) // (C3)
    return op.emitOpError() << "result 0 has type " << first << ", expected rank " << op.getShape().size();
  int64_t limit = op.getLimit(), extent = op.getShape()[op.getDim()];
  if (limit > extent) // (C3)
    return op.emitOpError() << "results have " << limit << " elements along dimension " << op.getDim()
                            << ", expected at most " << extent;
  SmallVector<int64_t> shape(op.getShape());
  shape[op.getDim()] = limit;
  for (auto [index, operand, result] : llvm::enumerate(op.getOperandTypes(), op.getResultTypes())) {
    auto expected = RankedTensorType::get(shape, getElementTypeOrSelf(operand));
    if (result != expected) // (C3)
      return op.emitOpError() << "result " << index << " has type " << result << ", expected " << expected;
  }
  return success();
}

LogicalResult SortOp::verify() {
  if (failed(verifyOperands(*this)) || failed(verifyResults(*this)))
    return failure();
  SmallVector<Type> expected;
  for (Type operand : getOperandTypes())
    expected.append(2, getElementTypeOrSelf(operand));
  TypeRange found = getComparator().getArgumentTypes();
  if (found != TypeRange(expected)) // (C4)
    return emitOpError() << "comparator has arguments (" << found << "), expected (" << expected << ")";
  return success();
}

LogicalResult SortOp::verifyRegions() {
  Block &body = getComparator().front();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getOperandTypes() != TypeRange(IntegerType::get(getContext(), 1))) // (C5)
    return emitOpError() << "comparator yields (" << body.getTerminator()->getOperandTypes()
                         << "), expected (i1)";
  WalkResult result = body.walk([&](Operation *op) {
    if (isMemoryEffectFree(op) && llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>))
      return WalkResult::advance();
    op->emitOpError() << "in the comparator of a sort, expected ops of scalars without side effects"; // (C6)
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
