//===- StageMemory.cpp - Loads and stores of a stage -----------------------------===//
//
// Problem: an access is strided over the stage's domain; vectors want a contiguous run of memory.
//
// Method: what of an index does not depend on the innermost loop is computed before it. Along that loop an
// access is contiguous (one vector, masked at the end of a row), the same for all lanes (one scalar), or
// anything else (a gather).
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

// Where the elements of a tensor are read from.
Value StageEmitter::getSource(Value tensor) {
  auto constant = tensor.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return values.buffers.lookup(tensor);
  Value &source = values.constants[tensor];
  if (!source)
    source = function.getConstant(cast<DenseElementsAttr>(constant.getValue()));
  return source;
}

// The access without its innermost dimension: the same for a whole row.
Value StageEmitter::getBase(const StridedAccess &access) {
  OpBuilder::InsertionGuard guard(b);
  if (rowPoint)
    b.setInsertionPoint(rowPoint);
  Value base;
  for (size_t dim = 0; dim < stage.rowRank || dim + 1 < stage.domain.size(); ++dim) {
    if (access.strides[dim] == 0)
      continue;
    Value term = ivs[dim];
    if (access.strides[dim] != 1)
      term = arith::MulIOp::create(b, term, function.getIndex(access.strides[dim]));
    base = base ? arith::AddIOp::create(b, base, term).getResult() : term;
  }
  if (base && access.offset != 0)
    base = arith::AddIOp::create(b, base, function.getIndex(access.offset));
  return base ? base : function.getIndex(access.offset);
}

Value StageEmitter::getIndex(const StridedAccess &access) {
  Value base = getBase(access);
  if (getVariation(access) != Varies::lane)
    return base;
  int64_t stride = access.strides.back();
  Value step = ivs.back();
  if (stride != 1)
    step = arith::MulIOp::create(b, step, function.getIndex(stride));
  return arith::AddIOp::create(b, base, step);
}

Value StageEmitter::getLaneOffsets(int64_t stride, Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  SmallVector<APInt> offsets;
  for (int64_t lane = 0; lane < lanes; ++lane)
    offsets.push_back(APInt(64, lane * stride).sextOrTrunc(width));
  return getConstant(DenseIntElementsAttr::get(getVectorType(type), offsets));
}

Value StageEmitter::getPosition(const StridedAccess &access, Type type) {
  Value position = getIndex(access);
  if (!type.isIndex())
    position = arith::IndexCastOp::create(b, type, position);
  if (lanes == 1 || getVariation(access) != Varies::lane)
    return position;
  return arith::AddIOp::create(b, broadcast(position), getLaneOffsets(access.strides.back(), type));
}

Value StageEmitter::fromStorage(Value stored, Type element) {
  if (element.isInteger(1)) {
    Value zero = getConstant(b.getZeroAttr(stored.getType()));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, stored, zero);
  }
  if (element.isIndex())
    return arith::IndexCastOp::create(b, getVectorType(element), stored);
  return stored;
}

Value StageEmitter::getLaneMask() {
  return mask ? mask : getConstant(DenseElementsAttr::get(getVectorType(b.getI1Type()), true));
}

// The vector of elements from `index` on, as many as there are lanes.
Value StageEmitter::loadRun(Value tensor, Value index) {
  Type element = getElementTypeOrSelf(tensor);
  VectorType type = getVectorType(getStorageType(element));
  return fromStorage(loadVector(b, type, getSource(tensor), index, mask), element);
}

Value StageEmitter::load(Value tensor, const StridedAccess &access, bool varies) {
  Type element = getElementTypeOrSelf(tensor);
  Value buffer = getSource(tensor), index = getIndex(access);
  if (lanes == 1 || !varies)
    return loadElement(b, buffer, index, element);
  if (access.strides.back() == 1)
    return loadRun(tensor, index);
  VectorType type = getVectorType(getStorageType(element));
  Value none = getConstant(b.getZeroAttr(type));
  Value offsets = getLaneOffsets(access.strides.back(), b.getIndexType());
  return fromStorage(vector::GatherOp::create(b, type, buffer, index, offsets, getLaneMask(), none), element);
}

void StageEmitter::store(Value value, Value tensor, const StridedAccess &access) {
  Value buffer = values.buffers.lookup(tensor), index = getIndex(access);
  if (lanes == 1 || !hasLanes()) {
    storeElement(b, value, buffer, index);
    return;
  }
  value = broadcast(value);
  Type element = getElementTypeOrSelf(tensor);
  if (element.isInteger(1))
    value = arith::ExtUIOp::create(b, getVectorType(b.getI8Type()), value);
  else if (element.isIndex())
    value = arith::IndexCastOp::create(b, getVectorType(b.getI64Type()), value);
  storeVector(b, value, buffer, index, mask);
}
