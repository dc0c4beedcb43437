//===- EplIndexedOps.cpp - Reads and writes at computed positions ---------===//

#include "dialect/Indexed.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// What both have in common
//===----------------------------------------------------------------------===//

IndexedAccess::IndexedAccess(GatherOp op)
    : operand(op.getOperand().getType()), windows(op.getType()), indices(op.getIndices()), of(op.getOf()),
      operandDims(op.getOperandDims()), indexDims(op.getIndexDims()) {}

IndexedAccess::IndexedAccess(ScatterOp op)
    : operand(op.getType()), windows(op.getUpdates().getType()), indices(op.getIndices()), of(op.getOf()),
      operandDims(op.getOperandDims()), indexDims(op.getIndexDims()) {}

static int64_t find(ArrayRef<int64_t> values, int64_t value) {
  const auto *found = llvm::find(values, value);
  return value < 0 || found == values.end() ? -1 : found - values.begin();
}

int64_t IndexedAccess::getBatchDim(int64_t dim) const { return find(indexDims, operandDims[dim]); }

int64_t IndexedAccess::getWindow(int64_t dim) const {
  return operandDims[dim] < 0 || getBatchDim(dim) >= 0 ? 1 : windows.getDimSize(operandDims[dim]);
}

bool IndexedAccess::isWhole(int64_t dim) const {
  return getBatchDim(dim) >= 0 || getWindow(dim) == operand.getDimSize(dim);
}

/// Whether `dims` are distinct numbers below `rank`; -1 stands for none where `optional`.
static bool areDims(ArrayRef<int64_t> dims, int64_t rank, bool optional = false) {
  llvm::SmallDenseSet<int64_t> seen;
  return llvm::all_of(dims, [&](int64_t dim) {
    return (optional && dim == -1) || (dim >= 0 && dim < rank && seen.insert(dim).second);
  });
}

LogicalResult IndexedAccess::verifyIndices(Operation *op) const {
  if (of.size() != indices.size() || !areDims(of, operand.getRank())) // (C1)
    return op->emitOpError() << "has " << indices.size() << " index tensors of dimensions [" << of
                             << "], expected one for each of some distinct dimensions of " << operand;
  for (auto [number, type] : llvm::enumerate(indices.getTypes())) {
    auto tensor = cast<RankedTensorType>(type), first = cast<RankedTensorType>(indices[0].getType());
    if (tensor.getRank() != int64_t(indexDims.size()) || tensor.getShape() != first.getShape()) // (C1)
      return op->emitOpError() << "index tensor " << number << " has type " << type << ", expected rank "
                               << indexDims.size() << " and the shape of " << first;
  }
  return success();
}

LogicalResult IndexedAccess::verifyDims(Operation *op, StringRef name) const {
  int64_t rank = windows.getRank();
  if (!areDims(indexDims, rank)) // (C2)
    return op->emitOpError() << "has index dimensions [" << indexDims
                             << "], expected distinct dimensions of the " << name << ", " << windows;
  if (int64_t(operandDims.size()) != operand.getRank() || !areDims(operandDims, rank, true)) // (C2)
    return op->emitOpError() << "has operand dimensions [" << operandDims
                             << "], expected for each dimension of " << operand
                             << " another dimension of the " << name << ", or -1";
  for (int64_t dim = 0; dim < rank; ++dim)
    if (find(indexDims, dim) < 0 && find(operandDims, dim) < 0) // (C2)
      return op->emitOpError() << "dimension " << dim << " of the " << name
                               << " corresponds to no other dimension";
  return success();
}

LogicalResult IndexedAccess::verifyExtents(Operation *op, StringRef name) const {
  auto emitExtentError = [&](int64_t dim, int64_t expected) {
    return op->emitOpError() << "dimension " << dim << " of the " << name << " has size "
                             << windows.getDimSize(dim) << ", expected " << expected;
  };
  for (Value index : indices.take_front(1))
    for (auto [dim, extent] : llvm::zip(indexDims, cast<RankedTensorType>(index.getType()).getShape()))
      if (windows.getDimSize(dim) != extent) // (C3)
        return emitExtentError(dim, extent);
  for (auto [dim, extent] : llvm::enumerate(operand.getShape())) {
    bool isBatch = getBatchDim(dim) >= 0;
    if (isBatch && llvm::is_contained(of, dim)) // (C3)
      return op->emitOpError() << "dimension " << dim << " of the operand is a batch and indexed";
    if (isBatch && windows.getDimSize(operandDims[dim]) != extent) // (C3)
      return emitExtentError(operandDims[dim], extent);
    if (!isBatch && getWindow(dim) > extent) // (C4)
      return op->emitOpError() << "windows have size " << getWindow(dim) << " along dimension " << dim
                               << " of the operand, expected at most " << extent;
  }
  return success();
}

LogicalResult IndexedAccess::verify(Operation *op, StringRef name) const {
  if (failed(verifyIndices(op)) || failed(verifyDims(op, name)) || failed(verifyExtents(op, name)))
    return failure();
  if (operand.getElementType() != windows.getElementType()) // (C5)
    return op->emitOpError() << name << " has type " << windows << ", expected the element type of "
                             << operand;
  return success();
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() { return IndexedAccess(*this).verify(*this, "result"); }

MutableOperandRange ScatterOp::getDpsInitsMutable() { return getOperandMutable(); }

LogicalResult ScatterOp::verify() {
  if (failed(IndexedAccess(*this).verify(*this, "updates")))
    return failure();
  Type element = getType().getElementType();
  bool forIntegers = getCombine() >= CombineKind::umin, forFlags = getCombine() >= CombineKind::andi;
  bool fits = element.isInteger(1) ? forFlags || getCombine() == CombineKind::set
                                   : !forIntegers || isa<IntegerType>(element);
  if (!fits) // (C6)
    return emitOpError() << "combines elements of " << element << " by \""
                         << stringifyCombineKind(getCombine()) << "\"";
  return success();
}
